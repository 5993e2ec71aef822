"""Fronts: policies that no other one dominates.

A policy dominates another if it is at least as good in every metric and better in one. Sorting and
selection are those of NSGA-II (Deb et al., *A fast and elitist multiobjective genetic algorithm:
NSGA-II*, IEEE TEVC 6(2), 2002), as DEAP has them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deap import base

FRONT_MAX = 16
"""The most policies of a front that is measured again."""

# DEAP is slow to load, and most commands never select: each function imports it.


class _Point:
    """A policy for DEAP: a position with scores."""

    def __init__(self, position: int, scores: Sequence[float]) -> None:
        self.position = position
        self.fitness = fitness_of(scores)


@functools.cache
def _fitness_class(metrics: int) -> type[base.Fitness]:
    from deap import base

    return type("Fitness", (base.Fitness,), {"weights": (1.0,) * metrics})


def fitness_of(scores: Sequence[float]) -> base.Fitness:
    """Return the scores as a fitness of DEAP, in which more is better."""
    fitness = _fitness_class(len(scores))()
    fitness.values = tuple(scores)
    return fitness


def non_dominated(scores: Sequence[Sequence[float]]) -> list[int]:
    """Return the positions of the policies that no other one dominates, in order.

    Of policies with equal scores only the first is returned.

    Args:
        scores: one sequence per policy, in which more is better.
    """
    from deap import tools

    points = _different(scores)
    if not points:
        return []
    (front,) = tools.sortNondominated(points, len(points), first_front_only=True)
    return sorted(point.position for point in front)


def spread(scores: Sequence[Sequence[float]], count: int) -> list[int]:
    """Return the positions of non-dominated policies, the most spread out if there are too many.

    Args:
        scores: one sequence per policy, in which more is better.
        count: the most to return.
    """
    from deap import tools

    front = non_dominated(scores)
    if len(front) <= count:
        return front
    points = [_Point(position, scores[position]) for position in front]
    return sorted(point.position for point in tools.selNSGA2(points, count))


def _different(scores: Sequence[Sequence[float]]) -> list[_Point]:
    first: dict[tuple[float, ...], int] = {}
    for position, values in enumerate(scores):
        first.setdefault(tuple(values), position)
    return [_Point(position, values) for values, position in first.items()]
