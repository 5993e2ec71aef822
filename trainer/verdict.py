"""The verdict of a comparison between a learned policy and the baselines.

The policy is better if its interval is above 1 against every baseline. That needs no correction for
the number of baselines (an intersection-union test). If repeats continue until the interval
decides, the test is repeated, and the confidence of each is corrected (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from envs import Comparison
from envs.metrics import METRICS
from envs.objective import Limit
from envs.ratio_interval import RatioInterval, ratio_interval
from envs.table import left_out_words
from policies import SEEDS, PolicyDocument
from policies.in_words import explain, policy_words
from traces.spelling import visible

WIDE = 1.5
"""The ratio of an interval's ends above which it is too wide to show equality."""

TIE = 1e-9
"""Identical repeats with a ratio this close to 1 show that both policies decide alike."""


class Kind(StrEnum):
    """The result of a comparison for the learned policy."""

    BETTER = "better"
    NO_DIFFERENCE = "no difference"
    WORSE = "worse"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"
    LEAVES_OUT = "leaves transactions out"
    BEYOND_LIMITS = "beyond its limits"


@dataclass(frozen=True)
class Verdict:
    """A learned policy against the best baseline.

    Attributes:
        kind: the result.
        baseline: the best baseline, or another that the policy does not beat significantly.
        ratio: the learned policy's value of the objective ÷ the baseline's: the geometric mean of
            the repeats.
        low: lower end of the interval of the ratio; None if there is no interval.
        high: upper end of the interval; None if there is none.
        repeats: number of repeats.
        confidence: of the interval, 0 to 1, over all repetitions of the test.
        same_as: the known algorithm that the policy is equivalent to, in words, or None.
        left_out: the types of the workload's mix that it leaves out, in words, or None.
        beyond: the limits that it exceeds, in words, or None.
        objective: the objective in words; None for throughput.
    """

    kind: Kind
    baseline: str
    ratio: float
    low: float | None
    high: float | None
    repeats: int
    confidence: float
    same_as: str | None = None
    left_out: str | None = None
    beyond: str | None = None
    objective: str | None = None

    @property
    def line(self) -> str:
        """Return the verdict in a line: what to use, and why."""
        baseline = visible(self.baseline)
        by = f" by {self.objective}" if self.objective else ""
        times = f"{self.ratio:.3f} × {baseline}{by}{self._interval}"
        match self.kind:
            case Kind.BETTER:
                return f"use it: {times}"
            case Kind.NO_DIFFERENCE:
                return f"no gain: use {baseline}; {times}, no significant difference"
            case Kind.WORSE:
                return f"worse: use {baseline}; {times}"
            case Kind.UNCHANGED:
                return (
                    f"no gain: use {baseline}; the learned policy is {self.same_as} unchanged, "
                    f"{times}"
                )
            case Kind.LEAVES_OUT:
                return f"leaves transactions out: use {baseline}; {self.left_out}, {times}"
            case Kind.BEYOND_LIMITS:
                return f"beyond its limits: use {baseline}; {self.beyond}, {times}"
            case Kind.UNDECIDED:
                return f"not decided: {times}; {self._undecided_reason}"

    @property
    def _undecided_reason(self) -> str:
        if self.low is not None:
            return (
                "the interval is too wide; allow more repeats (verdict.repeats_max, "
                "verdict.seconds) or longer runs (run.seconds)"
            )
        if self.repeats == 1:
            return "one repeat has no interval; set run.repeats to 3 or more"
        return f"all {self.repeats} repeats are the same run, which has no interval"

    @property
    def short(self) -> str:
        """Return the result in a few words."""
        if self.kind is Kind.UNCHANGED:
            return f"{self.same_as} unchanged"
        return "not decided" if self.kind is Kind.UNDECIDED else self.kind.value

    @property
    def _interval(self) -> str:
        if self.low is None or self.high is None:
            return ""
        return (
            f" ({self.confidence:.0%} interval {self.low:.3f} to {self.high:.3f}, "
            f"{self.repeats} repeats)"
        )

    def is_decided(self, equal_within: float) -> bool:
        """Return whether further repeats are unnecessary.

        Args:
            equal_within: an interval of the ratio within this distance of 1 shows equality.
        """
        if self.kind is Kind.UNCHANGED or self.low is None or self.high is None:
            return True
        if self.kind is Kind.NO_DIFFERENCE:
            return self.low >= 1 - equal_within and self.high <= 1 + equal_within
        return self.kind is not Kind.UNDECIDED and not _is_wide(self.low, self.high)

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON values, with its line."""
        return asdict(self) | {"line": self.line}

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Verdict:
        """Read a verdict from the values of `as_dict`.

        Raises:
            ValueError: the values have another form.
        """
        try:
            absent = {"left_out": None, "beyond": None, "objective": None}
            values = {**absent, **source}
            values = {name: values[name] for name in cls.__dataclass_fields__}
            return replace(cls(**values), kind=Kind(values["kind"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a verdict: {type(error).__name__}: {error}") from error


def judge(
    ratios: Mapping[str, Sequence[float]],
    confidence: float,
    *,
    analyses: int = 1,
    same_as: str | None = None,
    left_out: str | None = None,
    beyond: str | None = None,
    objective: str | None = None,
) -> Verdict | None:
    """Return the verdict of a comparison; None if there is no baseline.

    Args:
        ratios: the learned policy's value of the objective ÷ each baseline's, by repeat.
        confidence: of the interval, 0 to 1.
        analyses: the most repetitions of the test.
        same_as: the known algorithm that the policy is equivalent to (`same_as_known`).
        left_out: the types of the workload's mix that it leaves out (`left_out_by`), with which a
            policy is never better.
        beyond: the limits that it exceeds (`beyond_limits`), with which it is never better.
        objective: the objective in words; None for throughput.
    """
    each = 1 - (1 - confidence) / analyses
    found = {name: ratio_interval(taken, each) for name, taken in ratios.items() if taken}
    if not found:
        return None
    best = min(found, key=lambda name: found[name].ratio)
    unbeaten = [name for name, ratio in found.items() if ratio.low is None or ratio.low <= 1]
    if unbeaten and best not in unbeaten:
        best = min(unbeaten, key=lambda name: found[name].ratio)
    chosen = found[best]
    kind = Kind.UNCHANGED if same_as is not None else _kind(chosen)
    if kind is Kind.BETTER and left_out is not None:
        kind = Kind.LEAVES_OUT
    if kind is Kind.BETTER and beyond is not None:
        kind = Kind.BEYOND_LIMITS
    return Verdict(
        kind,
        best,
        chosen.ratio,
        chosen.low,
        chosen.high,
        chosen.repeats,
        confidence,
        same_as,
        left_out,
        beyond,
        objective,
    )


def ratios_judged(name: str, comparisons: Sequence[Comparison]) -> list[dict[str, list[float]]]:
    """Return a policy's ratios to the others, by comparison and repeat.

    A policy that left a type of the workload's mix out counts only if all others did, too.
    """
    found = [comparison.ratios(name) for comparison in comparisons]
    rows = [row for comparison in comparisons for row in comparison.rows]
    short = {row.subject.name for row in rows if row.shortfalls}
    kept = [
        {other: taken for other, taken in ratios.items() if other not in short} for ratios in found
    ]
    return kept if all(kept) else found


def left_out_by(name: str, comparisons: Sequence[Comparison]) -> str | None:
    """Return the types that a policy leaves out in some comparison, in words; None if none."""
    found = (comparison.row(name) for comparison in comparisons)
    rows = [row for row in found if row is not None and row.shortfalls]
    return left_out_words(rows[0]) if rows else None


def beyond_limits(name: str, comparisons: Sequence[Comparison]) -> str | None:
    """Return the limits that a policy exceeds in some comparison, in words; None if none.

    A limit is exceeded if the median repeat is beyond it.
    """
    found = [(comparison.row(name), comparison.objective) for comparison in comparisons]
    words = [
        _exceeded(limit, row.limited_figure(limit))
        for row, objective in found
        if row is not None
        for limit in row.limits_exceeded(objective)
    ]
    return "; ".join(words) or None


def _exceeded(limit: Limit, figure: float | None) -> str:
    metric = METRICS[limit.metric]
    sign = "<" if metric.higher_is_better else ">"
    found = "unknown, as a type commits nothing" if figure is None else metric.text(figure)
    return f"{visible(limit.name)} {found} {sign} {metric.text(limit.value)}"


def _kind(interval: RatioInterval) -> Kind:
    if interval.low is None or interval.high is None:
        tied = interval.repeats > 1 and abs(interval.ratio - 1) < TIE
        return Kind.NO_DIFFERENCE if tied else Kind.UNDECIDED
    if interval.low > 1 or interval.high < 1:
        return Kind.BETTER if interval.low > 1 else Kind.WORSE
    # A wide interval does not show equality.
    return Kind.UNDECIDED if _is_wide(interval.low, interval.high) else Kind.NO_DIFFERENCE


def _is_wide(low: float, high: float) -> bool:
    return high > WIDE * low


def same_as_known(document: PolicyDocument) -> str | None:
    """Return the known algorithm that a table is equivalent to, in words; None if there is none.

    Cells without effect do not count. OCC with a constant backoff is known as well: it is
    `silo_tuned`.
    """
    known = {policy_words(name): build(document.signature) for name, build in SEEDS.items()}
    backoffs = list(document.backoff.values())
    first = backoffs[0]
    if all(backoff == first for backoff in backoffs) and not any((*first.abort, *first.commit)):
        words = f"{policy_words('occ')} under a constant backoff of {first.initial_us:g} µs"
        known[words] = replace(SEEDS["occ"](document.signature), backoff=document.backoff)
    return next((words for words, seed in known.items() if not explain(seed, document).cells), None)
