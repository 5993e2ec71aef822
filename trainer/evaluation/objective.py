"""What a table that is trained for several workloads is worth: its scores in them as one number.

A score is throughput relative to the reference of its own scenario, so a warehouse more, which
doubles everybody's throughput, is no merit. Of such ratios the geometric mean is the one to take
(Fleming and Wallace, *How not to lie with statistics*, CACM 29(3), 1986): a table that is faster by
a tenth somewhere and slower by as much elsewhere has gained nothing, and which of two tables is the
better does not depend on what they were measured beside. The arithmetic mean has neither property;
it would follow the scenario in which the reference is weakest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Objective:
    """How scores become a fitness.

    Attributes:
        words: what it is, for people.
        fitness: of the scores, one per scenario; of a single one itself, to the bit. 0 if one is.
        slopes: by how much the fitness moves with each score (its partial derivatives).
        needs_unit: whether the order of tables depends on what their scores are relative to.
    """

    words: str
    fitness: Callable[[Sequence[float]], float]
    slopes: Callable[[Sequence[float]], list[float]]
    needs_unit: bool

    def error(self, scores: Sequence[float], errors: Sequence[float]) -> float:
        """Standard error of the fitness, to first order, of independent errors of the scores."""
        slopes = self.slopes(scores)
        return math.hypot(*(s * e for s, e in zip(slopes, errors, strict=True)))


def _geometric_mean(scores: Sequence[float]) -> float:
    return math.prod(scores) ** (1.0 / len(scores))


def _slopes_of_mean(scores: Sequence[float]) -> list[float]:
    mean = _geometric_mean(scores)
    if mean == 0.0:  # no slope says anything here: all alike, as where all scores are equal
        return [1.0 / len(scores)] * len(scores)
    return [mean / (len(scores) * score) for score in scores]


def _slopes_of_least(scores: Sequence[float]) -> list[float]:
    least = scores.index(min(scores))
    return [float(at == least) for at in range(len(scores))]


OBJECTIVES = {
    "mean": Objective("geometric mean", _geometric_mean, _slopes_of_mean, needs_unit=False),
    "worst": Objective("worst case", min, _slopes_of_least, needs_unit=True),
}
"""By the name that follows `robust.objective=`."""


def check_objective(name: str) -> None:
    """Refuse an objective that does not exist.

    Raises:
        ValueError: there is none of this name; the message lists them.
    """
    if name not in OBJECTIVES:
        raise ValueError(
            f"robust.objective={name}: no such objective; there are {', '.join(OBJECTIVES)}"
        )
