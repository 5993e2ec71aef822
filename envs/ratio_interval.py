"""How sure a ratio of two policies' throughputs is, from the repeats that they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

FARTHEST = 100.0
"""The largest ratio, either way, that a repeat counts with: some commit nothing at all."""

SAME = 1e-12
"""Logarithms of ratios that differ by less than this are of the same run: of rounding alone."""


@dataclass(frozen=True)
class RatioInterval:
    """A ratio of throughputs.

    Attributes:
        ratio: the geometric mean over the repeats.
        low: end of the interval; None where there is none …
        high: … and the other end.
        repeats: how many.
    """

    ratio: float
    low: float | None
    high: float | None
    repeats: int


def mean_ratio(ratios: Sequence[float]) -> float:
    """The geometric mean of paired repeats' ratios; at least one."""
    logs = _logs(ratios)
    return math.exp(math.fsum(logs) / len(logs))


def _logs(ratios: Sequence[float]) -> list[float]:
    return [math.log(min(max(ratio, 1 / FARTHEST), FARTHEST)) for ratio in ratios]


def ratio_interval(ratios: Sequence[float], confidence: float) -> RatioInterval:
    """The mean ratio of paired repeats, and Student's interval of its logarithm.

    A single repeat has no interval. Neither have repeats that are all equal: they are one run made
    several times, and do not show how far another one may be away. But where all of several are
    farther than `FARTHEST`, so is the ratio.

    Args:
        ratios: of one policy's throughput to another's, one a repeat; at least one.
        confidence: how likely the interval covers the true ratio, 0 to 1.
    """
    logs = _logs(ratios)
    ratio, repeats = mean_ratio(ratios), len(logs)
    if max(logs) - min(logs) < SAME:
        beyond = repeats > 1 and math.isclose(abs(logs[0]), math.log(FARTHEST))
        end = ratio if beyond else None
        return RatioInterval(ratio, end, end, repeats)
    # Takes a second to import: only where it is used.
    from scipy.stats import ttest_1samp

    found = ttest_1samp(logs, 0.0).confidence_interval(confidence)
    return RatioInterval(ratio, math.exp(found.low), math.exp(found.high), repeats)
