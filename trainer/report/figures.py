"""Measurements prepared for a page: bars, shares and their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from envs import Comparison, Row, machine_words
from envs.table import backoff_note, left_out_words, overdue_notes
from envs.windows import runs_words, window_remarks
from policies import Signature
from policies.in_words import access_words, policy_words, type_words
from trainer.outcome import LEARNED
from trainer.verdict import Verdict

PARTS = {
    "useful": "committed work",
    "waiting": "waiting for other transactions",
    "wasted": "aborted work",
    "backoff": "backing off after an abort",
    "commit": "committing",
}
"""The parts of the time that the engine reports (`Result.time_s`), in words."""

PLACES = 8
"""The maximum number of accesses listed for waits and for aborts."""


@dataclass(frozen=True)
class ComparedView:
    """One policy of a comparison.

    Attributes:
        name: the display name.
        learned: whether this is the learned policy.
        throughput: commits per second.
        share: throughput relative to the highest one, 0 to 1.
        low: the first quartile, on the scale of `share`.
        high: the third quartile, on the scale of `share`.
        score: the learned policy's throughput ÷ this one's; None for the learned policy.
        abort_rate: aborted ÷ all attempts.
        latency: p50 and p99 by type, µs; None for a type without a commit.
        parts: share of the time, by the names of `PARTS`.
    """

    name: str
    learned: bool
    throughput: float
    share: float
    low: float
    high: float
    score: float | None
    abort_rate: float
    latency: list[tuple[float, float] | None]
    parts: list[tuple[str, float]]


@dataclass(frozen=True)
class ComparisonView:
    """A comparison of policies on one machine.

    Attributes:
        machine: the machine, in words.
        note: the length and number of the runs.
        types: the columns of latency.
        rows: the learned policy first, then by descending throughput (`Comparison.ranked`).
        violations: of the database's consistency.
        verdict: the result in a line; empty without a baseline.
        warnings: what makes the measurements doubtful.
    """

    machine: str
    note: str
    types: list[str]
    rows: list[ComparedView]
    violations: list[str]
    verdict: str
    warnings: list[str]


@dataclass(frozen=True)
class Place:
    """An access at which transactions wait or abort.

    Attributes:
        name: the access, in words.
        share: of all waiting, or of all aborts, 0 to 1.
        amount: the amount, in words.
    """

    name: str
    share: float
    amount: str


def comparison_view(
    comparison: Comparison, label: str = "", verdict: Verdict | None = None
) -> ComparisonView | None:
    """Return the view of a comparison in the scenario `label`; None if nothing was measured."""
    rows = comparison.rows
    if not rows:
        return None
    most = max(max(row.throughput, row.quartiles[1]) for row in rows) or 1.0
    scores = comparison.scores(LEARNED)
    ordered = sorted(comparison.ranked, key=lambda row: row.subject.name != LEARNED)
    runs = runs_words(comparison)
    notes = [runs[0].upper() + runs[1:], *window_remarks(comparison)]
    notes += [
        f"* the mix of types was not kept: {left_out_words(row)}" for row in rows if row.shortfalls
    ]
    notes += overdue_notes(rows)
    if comparison.interrupted:
        notes.append("interrupted before all runs were made")
    return ComparisonView(
        machine_words(rows[0].machine) + (f" ({label})" if label else ""),
        "; ".join(notes),
        [type_words(name) for name in rows[0].types],
        [_compared(row, most, scores) for row in ordered],
        comparison.violations,
        verdict.line if verdict is not None else "",
        comparison.warnings,
    )


def waited_by_state(rows: Sequence[Row]) -> list[float]:
    """Return each state's share of all waiting, before its access; empty without any waiting.

    Args:
        rows: a policy's rows, one per scenario, with equal weights.
    """
    return _mean_shares([[result.waiting_by_state_s for result in row.repeats] for row in rows])


def aborted_by_state(rows: Sequence[Row]) -> list[float]:
    """Return each state's share of all aborts, and the commit's last; empty without any abort.

    Args:
        rows: see `waited_by_state`.
    """
    return _mean_shares([[result.aborts_by_state for result in row.repeats] for row in rows])


def waiting_places(row: Row, signature: Signature) -> list[Place]:
    """Return the accesses with most waiting before them, in descending order."""
    shares = waited_by_state([row])
    worked = sum(result.machine.cores * result.duration_s for result in row.repeats) or 1.0
    total = sum(sum(result.waiting_by_state_s) for result in row.repeats)
    return [
        Place(name, share, f"{share * total / worked:.1%} of all time")
        for name, share in _most(shares[: signature.state_count], signature)
    ]


def abort_places(row: Row, signature: Signature) -> list[Place]:
    """Return the accesses with most aborts, in descending order."""
    shares = aborted_by_state([row])
    count = sum(sum(result.aborts_by_state) for result in row.repeats)
    places = _most(shares[: signature.state_count], signature)
    if len(shares) > signature.state_count:
        places.append(("commit", shares[-1]))
    found = [Place(name, share, f"{share * count:,.0f} aborts") for name, share in places]
    return sorted((place for place in found if place.share > 0), key=lambda place: -place.share)[
        :PLACES
    ]


def _most(shares: Sequence[float], signature: Signature) -> list[tuple[str, float]]:
    found = [
        (f"{type_words(signature.type_of(state).name)}'s {access_words(signature, state)}", share)
        for state, share in enumerate(shares)
        if share > 0
    ]
    return sorted(found, key=lambda place: -place[1])[:PLACES]


def _mean_shares(rows: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    return _shares([shares for runs in rows if (shares := _shares(runs))])


def _shares(runs: Sequence[Sequence[float]]) -> list[float]:
    sums = [float(sum(column)) for column in zip(*runs, strict=False)]
    total = sum(sums)
    return [part / total for part in sums] if total > 0 else []


def _compared(row: Row, most: float, scores: dict[str, float]) -> ComparedView:
    low, high = row.quartiles
    learned = row.subject.name == LEARNED
    mark = " *" if row.shortfalls else ""
    name = policy_words(row.subject.name) + backoff_note(row.subject) + mark
    return ComparedView(
        name,
        learned,
        row.throughput,
        row.throughput / most,
        low / most,
        high / most,
        scores.get(row.subject.name),
        row.abort_rate,
        [
            (latency.p50, latency.p99) if latency else None
            for latency in map(row.latency_of, row.types)
        ],
        _parts(row),
    )


def _parts(row: Row) -> list[tuple[str, float]]:
    sums = {name: sum(result.time_s.get(name, 0.0) for result in row.repeats) for name in PARTS}
    total = sum(sums.values())
    return [(name, sums[name] / total) for name in PARTS] if total > 0 else []
