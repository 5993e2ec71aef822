"""Measured numbers as a page shows them: bars, shares, and the words around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from envs import Comparison, Row, machine_words
from envs.table import backoff_note, left_out_words
from envs.windows import runs_words, window_remarks
from policies import Signature
from policies.in_words import access_words, policy_words, type_words
from trainer.run import LEARNED
from trainer.verdict import Verdict

PARTS = {
    "useful": "work that was committed",
    "waiting": "waiting for other transactions",
    "wasted": "work that was thrown away by an abort",
    "backoff": "backing off after an abort",
    "commit": "committing",
}
"""Where the engine says that time went (`Result.time_s`), in words."""

PLACES = 8
"""So many places are named where transactions wait or abort."""


@dataclass(frozen=True)
class ComparedView:
    """One policy of a comparison.

    Attributes:
        name: as people write it.
        learned: whether it is the one that was learned.
        throughput: commits a second.
        share: of the highest throughput, 0 to 1; `low` and `high` likewise of the quartiles.
        low: see `share`.
        high: see `share`.
        score: the learned policy's throughput ÷ its; None for itself.
        abort_rate: aborted ÷ all attempts.
        latency: p50 and p99 by type, µs; None without a commit.
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
    """A comparison.

    Attributes:
        machine: where it was made, in words.
        note: how much was measured.
        types: the columns of latency.
        rows: the learned policy first, then the best first (`Comparison.ranked`).
        violations: of the database's consistency.
        verdict: what it shows, in a line; empty if nothing was to compare with.
        warnings: what makes the figures doubtful.
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
    """Where transactions lose time or their work.

    Attributes:
        name: the access, in words.
        share: of all that is lost in this way, 0 to 1.
        amount: in words.
    """

    name: str
    share: float
    amount: str


def comparison_view(
    comparison: Comparison, label: str = "", verdict: Verdict | None = None
) -> ComparisonView | None:
    """A comparison's rows, in the scenario of that label; None if nothing was measured."""
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
    if comparison.interrupted:
        notes.append("cut short, so not all runs were made")
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
    """The share of all waiting that came before each state's access; empty if nobody waited.

    Args:
        rows: of a policy, one per scenario; each counts as much as the others.
    """
    return _mean_shares([[one.waiting_by_state_s for one in row.repeats] for row in rows])


def aborted_by_state(rows: Sequence[Row]) -> list[float]:
    """The share of all aborts at each state, and at last at the commit; empty if there was none.

    Args:
        rows: as of `waited_by_state`.
    """
    return _mean_shares([[one.aborts_by_state for one in row.repeats] for row in rows])


def waiting_places(row: Row, signature: Signature) -> list[Place]:
    """Before which accesses most of the waiting comes, the most first."""
    shares = waited_by_state([row])
    worked = sum(result.machine.cores * result.duration_s for result in row.repeats) or 1.0
    total = sum(sum(result.waiting_by_state_s) for result in row.repeats)
    return [
        Place(name, share, f"{share * total / worked:.1%} of all time")
        for name, share in _most(shares[: signature.state_count], signature)
    ]


def abort_places(row: Row, signature: Signature) -> list[Place]:
    """Where most aborts happen, the most first."""
    shares = aborted_by_state([row])
    count = sum(sum(result.aborts_by_state) for result in row.repeats)
    places = _most(shares[: signature.state_count], signature)
    if len(shares) > signature.state_count:
        places.append(("commit", shares[-1]))
    found = [Place(name, share, f"{share * count:,.0f} aborts") for name, share in places]
    return sorted((one for one in found if one.share > 0), key=lambda one: -one.share)[:PLACES]


def _most(shares: Sequence[float], signature: Signature) -> list[tuple[str, float]]:
    found = [
        (f"{type_words(signature.type_of(state).name)}'s {access_words(signature, state)}", share)
        for state, share in enumerate(shares)
        if share > 0
    ]
    return sorted(found, key=lambda one: -one[1])[:PLACES]


def _mean_shares(rows: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    return _shares([shares for runs in rows if (shares := _shares(runs))])


def _shares(runs: Sequence[Sequence[float]]) -> list[float]:
    sums = [float(sum(column)) for column in zip(*runs, strict=False)]
    total = sum(sums)
    return [one / total for one in sums] if total > 0 else []


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
        [(one.p50, one.p99) if one else None for one in map(row.latency_of, row.types)],
        _parts(row),
    )


def _parts(row: Row) -> list[tuple[str, float]]:
    sums = {name: sum(one.time_s.get(name, 0.0) for one in row.repeats) for name in PARTS}
    total = sum(sums.values())
    return [(name, sums[name] / total) for name in PARTS] if total > 0 else []
