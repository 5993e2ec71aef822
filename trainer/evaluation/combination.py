"""Combinations: a table's scores in several scenarios as one fitness.

A score is throughput relative to the reference of its own scenario, so one more warehouse, which
doubles the throughput of all tables, does not count. For such ratios the geometric mean is
appropriate (Fleming and Wallace, *How not to lie with statistics*, CACM 29(3), 1986). A table that
is faster by a factor in one scenario and slower by it in another has gained nothing, and the order
of two tables does not depend on the reference. The arithmetic mean has neither property: the
scenario with the weakest reference would dominate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Combination:
    """A function from scores to a fitness.

    Attributes:
        words: its name for display.
        fitness: of the scores, one per scenario; a single score unchanged. 0 if a score is 0.
        slopes: the partial derivatives of the fitness with respect to the scores.
        needs_unit: whether the order of tables depends on the reference of the scores.
    """

    words: str
    fitness: Callable[[Sequence[float]], float]
    slopes: Callable[[Sequence[float]], list[float]]
    needs_unit: bool

    def error(self, scores: Sequence[float], errors: Sequence[float]) -> float:
        """Return the standard error of the fitness, to first order, for independent errors."""
        slopes = self.slopes(scores)
        return math.hypot(*(s * e for s, e in zip(slopes, errors, strict=True)))


def _geometric_mean(scores: Sequence[float]) -> float:
    return math.prod(scores) ** (1.0 / len(scores))


def _slopes_of_mean(scores: Sequence[float]) -> list[float]:
    mean = _geometric_mean(scores)
    if mean == 0.0:  # the derivatives are undefined here; take those of equal scores
        return [1.0 / len(scores)] * len(scores)
    return [mean / (len(scores) * score) for score in scores]


def _slopes_of_least(scores: Sequence[float]) -> list[float]:
    least = scores.index(min(scores))
    return [float(at == least) for at in range(len(scores))]


COMBINATIONS = {
    "mean": Combination("geometric mean", _geometric_mean, _slopes_of_mean, needs_unit=False),
    "worst": Combination("worst case", min, _slopes_of_least, needs_unit=True),
}
"""The combinations: the names that `robust.combine=` accepts."""


def check_combination(name: str) -> None:
    """Check that a combination exists.

    Raises:
        ValueError: it does not; the message lists all.
    """
    if name not in COMBINATIONS:
        raise ValueError(
            f"robust.combine={name}: no such combination; there are {', '.join(COMBINATIONS)}"
        )
