"""Confidence intervals of the throughput ratio of two policies, from paired repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

FARTHEST = 100.0
"""Bound of a repeat's ratio and its inverse, because a run may commit nothing at all."""

SAME = 1e-12
"""Logarithms that differ by less than this are equal except for rounding."""


@dataclass(frozen=True)
class RatioInterval:
    """A ratio of throughputs with its confidence interval.

    Attributes:
        ratio: geometric mean over the repeats.
        low: lower end of the interval; None without an interval.
        high: upper end of the interval; None without an interval.
        repeats: number of repeats.
    """

    ratio: float
    low: float | None
    high: float | None
    repeats: int


def mean_ratio(ratios: Sequence[float]) -> float:
    """Return the geometric mean of at least one ratio."""
    logs = _logs(ratios)
    return math.exp(math.fsum(logs) / len(logs))


def _logs(ratios: Sequence[float]) -> list[float]:
    return [math.log(min(max(ratio, 1 / FARTHEST), FARTHEST)) for ratio in ratios]


def ratio_interval(ratios: Sequence[float], confidence: float) -> RatioInterval:
    """Return the mean ratio of paired repeats with Student's interval of its logarithm.

    A single repeat has no interval. Equal repeats have none either, because they are the same run
    and show no variance. If all of several ratios are at the bound of 100, the interval is that
    bound.

    Args:
        ratios: throughput of one policy divided by another's, by repeat; at least one. Ratios are
            limited to the range from 1/100 to 100.
        confidence: confidence level, 0 to 1.
    """
    logs = _logs(ratios)
    ratio, repeats = mean_ratio(ratios), len(logs)
    if max(logs) - min(logs) < SAME:
        beyond = repeats > 1 and math.isclose(abs(logs[0]), math.log(FARTHEST))
        end = ratio if beyond else None
        return RatioInterval(ratio, end, end, repeats)
    # Imported here because the import takes a second.
    from scipy.stats import ttest_1samp

    found = ttest_1samp(logs, 0.0).confidence_interval(confidence)
    return RatioInterval(ratio, math.exp(found.low), math.exp(found.high), repeats)
