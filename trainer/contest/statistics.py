"""Figures of a contest, over independent runs: curves, spreads, and how sure a difference is."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

COUNTED_OUT = 20_000
"""So many ways to deal scores to two methods are gone through one by one."""


@dataclass(frozen=True)
class Curve:
    """The incumbent over what was spent: nothing before the first step, then steps.

    Attributes:
        steps: (spent, value), in order of what was spent; a step lasts until the next one.
    """

    steps: tuple[tuple[float, float], ...]

    def at(self, spent: float) -> float:
        """The value after so much was spent; 0 before there was any."""
        return next((value for begun, value in reversed(self.steps) if begun <= spent), 0.0)

    def area(self, until: float) -> float:
        """The mean value from 0 to `until`: the area below the curve, relative to its width."""
        within = [(begun, value) for begun, value in self.steps if begun < until]
        ends = [begun for begun, _ in within[1:]] + [until]
        area = sum((end - begun) * value for (begun, value), end in zip(within, ends, strict=False))
        return area / until

    def reaches(self, target: float, until: float) -> float | None:
        """What was spent when it first had so much; None if it had not by `until`."""
        within = (begun for begun, value in self.steps if value >= target and begun <= until)
        return next(within, None)


@dataclass(frozen=True)
class Spread:
    """What runs have in common, and how far they are apart.

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
        """The spread of at least one value."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass(frozen=True)
class Pair:
    """Two methods beside each other.

    Attributes:
        first: the one.
        second: the other.
        effect: ties counting half, 0.5 is no difference. Of independent runs, how likely one of
            the first is better than one of the second (Vargha and Delaney's A); of blocks, in what
            share of them the first is better.
        p: how likely so great a difference is among methods that are alike.
        corrected: the same, corrected for the number of pairs (Holm).
    """

    first: str
    second: str
    effect: float
    p: float
    corrected: float


def compare_runs(runs: Mapping[str, Sequence[float]]) -> list[Pair]:
    """Every two methods, by the scores of their independent runs (Mann-Whitney, two-sided).

    Args:
        runs: the scores of each method's runs; at least one each.
    """
    names = list(combinations(runs, 2))
    tests = [_mann_whitney(runs[one], runs[other]) for one, other in names]
    return _pairs(names, [effect for effect, _ in tests], [p for _, p in tests])


def compare_blocks(blocks: Sequence[Mapping[str, float]]) -> list[Pair]:
    """Every two methods over all workloads (Wilcoxon's signed ranks of the scores' log ratios).

    Args:
        blocks: the scores of all methods, a mapping for each workload and seed, which are what
            runs of a block share. Blocks that lack a method are left out of its pairs; one whose
            champion failed, and scores 0, has lost.
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
    """Probabilities corrected for their number by Holm's step-down procedure (1979), in order."""
    order = sorted(range(len(chances)), key=lambda i: chances[i])
    corrected = [0.0] * len(chances)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[index]))
        corrected[index] = highest
    return corrected


def smallest_p(first: int, second: int) -> float:
    """The smallest p that so many runs of two methods can have, if not one pair is tied."""
    return min(1.0, 2.0 / math.comb(first + second, first))


def smallest_p_of_blocks(blocks: int) -> float:
    """The smallest p that Wilcoxon's test can have over so many pairs."""
    return min(1.0, 2.0 * 0.5**blocks)


def _log_ratio(one: float, other: float) -> float:
    """How much better the one is; beside a score of 0 any other is better than all ratios say."""
    if one == other:
        return 0.0
    if one == 0.0 or other == 0.0:
        return math.copysign(sys.float_info.max, one - other)
    return math.log(one / other)


def _mann_whitney(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """How often a run of the first beats one of the second, and how likely that is by chance.

    Exact as far as it can be counted out, ties or not: the normal distribution, which is what SciPy
    takes as soon as two runs are equal, finds few runs more significant than they can be.
    """
    from scipy.stats import mannwhitneyu, permutation_test

    test = mannwhitneyu(first, second)
    effect, p = float(test.statistic) / (len(first) * len(second)), float(test.pvalue)
    if min(len(first), len(second)) < 2:
        return effect, 1.0  # nothing can be concluded from a single run
    tied = len({*first, *second}) < len(first) + len(second)
    if tied and math.comb(len(first) + len(second), len(first)) <= COUNTED_OUT:
        p = permutation_test(
            (first, second),
            lambda one, other: mannwhitneyu(one, other, method="asymptotic").statistic,
            vectorized=False,
            n_resamples=COUNTED_OUT,
        ).pvalue
    return effect, float(p)


def _pairs(
    names: Sequence[tuple[str, str]], effects: Sequence[float], chances: Sequence[float]
) -> list[Pair]:
    rows = zip(names, effects, chances, holm(chances), strict=True)
    return [Pair(one, other, effect, p, corrected) for (one, other), effect, p, corrected in rows]
