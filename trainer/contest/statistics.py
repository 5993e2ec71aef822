"""Statistics of a contest over independent runs: curves, spreads, and significance."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

COUNTED_OUT = 20_000
"""Maximum number of permutations for an exact test."""


@dataclass(frozen=True)
class Curve:
    """The incumbent's score over a cost, as a step function: 0 before the first step.

    Attributes:
        steps: (cost, value), by cost; a step lasts until the next one.
    """

    steps: tuple[tuple[float, float], ...]

    def at(self, spent: float) -> float:
        """Return the value at a cost; 0 before the first step."""
        return next((value for begun, value in reversed(self.steps) if begun <= spent), 0.0)

    def area(self, until: float) -> float:
        """Return the mean value from 0 to `until`: the area below the curve, per unit of cost."""
        within = [(begun, value) for begun, value in self.steps if begun < until]
        ends = [begun for begun, _ in within[1:]] + [until]
        area = sum((end - begun) * value for (begun, value), end in zip(within, ends, strict=False))
        return area / until

    def reaches(self, target: float, until: float) -> float | None:
        """Return the cost at which it first had the value; None if not by `until`."""
        within = (begun for begun, value in self.steps if value >= target and begun <= until)
        return next(within, None)


@dataclass(frozen=True)
class Spread:
    """Median and quartiles over runs.

    Attributes:
        median: of the runs.
        low: first quartile.
        high: third quartile.
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of at least one value."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass(frozen=True)
class Pair:
    """A comparison of two methods.

    Attributes:
        first: the first method.
        second: the second method.
        effect: 0.5 is no difference; ties count half. For independent runs, the probability that a
            run of the first is better than one of the second (Vargha and Delaney's A); for blocks,
            the share of them in which the first is better.
        p: the probability of at least this difference between equal methods.
        corrected: p corrected for the number of pairs (Holm).
    """

    first: str
    second: str
    effect: float
    p: float
    corrected: float


def compare_runs(runs: Mapping[str, Sequence[float]]) -> list[Pair]:
    """Compare all pairs of methods by their independent runs (Mann-Whitney, two-sided).

    Args:
        runs: the scores of each method's runs; at least one each.
    """
    names = list(combinations(runs, 2))
    tests = [_mann_whitney(runs[one], runs[other]) for one, other in names]
    return _pairs(names, [effect for effect, _ in tests], [p for _, p in tests])


def compare_blocks(blocks: Sequence[Mapping[str, float]]) -> list[Pair]:
    """Compare all pairs of methods over all workloads (Wilcoxon's signed ranks of log ratios).

    Args:
        blocks: the scores of all methods, one mapping per workload and seed, which the runs of a
            block share. Blocks without a method are left out of its pairs. A method whose champion
            failed, with score 0, has lost the block.
    """
    from scipy.stats import wilcoxon

    methods = list(dict.fromkeys(name for block in blocks for name in block))
    names, effects, chances = [], [], []
    for one, other in combinations(methods, 2):
        logs = [
            _log_ratio(block[one], block[other])
            for block in blocks
            if one in block and other in block
        ]
        if not logs:
            continue
        names.append((one, other))
        effects.append(sum((x > 0) + 0.5 * (x == 0) for x in logs) / len(logs))
        chances.append(float(wilcoxon(logs).pvalue) if any(logs) else 1.0)
    return _pairs(names, effects, chances)


def holm(chances: Sequence[float]) -> list[float]:
    """Correct probabilities for their number by Holm's step-down procedure (1979), in order."""
    order = sorted(range(len(chances)), key=lambda i: chances[i])
    corrected = [0.0] * len(chances)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[index]))
        corrected[index] = highest
    return corrected


def smallest_p(first: int, second: int) -> float:
    """Return the smallest p possible with these numbers of runs without ties."""
    return min(1.0, 2.0 / math.comb(first + second, first))


def smallest_p_of_blocks(blocks: int) -> float:
    """Return the smallest p that Wilcoxon's test can have with this number of pairs."""
    return min(1.0, 2.0 * 0.5**blocks)


def _log_ratio(first: float, other: float) -> float:
    """Return the log ratio of two scores; the sign of an infinite ratio if one of them is 0."""
    if first == other:
        return 0.0
    if first == 0.0 or other == 0.0:
        return math.copysign(sys.float_info.max, first - other)
    return math.log(first / other)


def _mann_whitney(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return Vargha and Delaney's A and the p of the Mann-Whitney test.

    Exact up to `COUNTED_OUT` permutations, with or without ties: SciPy uses the normal distribution
    as soon as two runs are equal, which overstates the significance of few runs.
    """
    from scipy.stats import mannwhitneyu, permutation_test

    test = mannwhitneyu(first, second)
    effect, p = float(test.statistic) / (len(first) * len(second)), float(test.pvalue)
    if min(len(first), len(second)) < 2:
        return effect, 1.0  # a single run allows no conclusion
    tied = len({*first, *second}) < len(first) + len(second)
    if tied and math.comb(len(first) + len(second), len(first)) <= COUNTED_OUT:
        p = permutation_test(
            (first, second),
            lambda first, other: mannwhitneyu(first, other, method="asymptotic").statistic,
            vectorized=False,
            n_resamples=COUNTED_OUT,
        ).pvalue
    return effect, float(p)


def _pairs(
    names: Sequence[tuple[str, str]], effects: Sequence[float], chances: Sequence[float]
) -> list[Pair]:
    rows = zip(names, effects, chances, holm(chances), strict=True)
    return [
        Pair(first, other, effect, p, corrected) for (first, other), effect, p, corrected in rows
    ]
