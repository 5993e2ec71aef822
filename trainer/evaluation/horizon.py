"""The length of a race's runs on virtual cores that is needed to rank candidates.

A run starts with every core at the start of its backoff. If transactions often abort, the backoff
then grows for milliseconds. During that time a table with a growing backoff seems worse than one
that starts with a long one. The duration depends on the workload, so it is measured, on tables
known in advance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envs import MeasuringError, RunRound, Subject

GOOD = 0.5
"""A table below this share of the best fitness, in short or in long runs, is ignored: its exact
fitness does not matter."""


@dataclass(frozen=True)
class Horizon:
    """The result of `find_horizon`.

    Attributes:
        slices: the factor on the slices of a rung's setting.
        error: the relative error of a table's fitness in a rung of that length.
        shortest_error: the same for a rung of the set length.
    """

    slices: int
    error: float
    shortest_error: float


def lengths(slice_seconds: float, longest_seconds: float) -> list[int]:
    """Return the lengths to try, in slices: doubled up to the longest."""
    tried = [1]
    while 2 * tried[-1] * slice_seconds < longest_seconds:
        tried.append(2 * tried[-1])
    return tried


def find_horizon(
    run_round: RunRound,
    subjects: Sequence[Subject],
    *,
    slice_seconds: float,
    warmup: float,
    longest_seconds: float,
    within: float,
    seed: int,
    on_run: Callable[[], None] = lambda: None,
) -> Horizon:
    """Find the shortest runs that rank the subjects as a long run does.

    Args:
        run_round: measures, on virtual cores.
        subjects: tables that differ; at least two must be able to run.
        slice_seconds: length of a slice.
        warmup: unmeasured seconds before a run.
        longest_seconds: of the long run.
        within: the allowed relative error of a ratio of fitnesses.
        seed: of the inputs.
        on_run: called after every run.

    Returns:
        The first length of `lengths` within that error, or the last of them.
    """

    def fitness_in(seconds: float) -> dict[int, float]:
        reached = {}
        for index, outcome in run_round(subjects, seconds, warmup=warmup, seed=seed):
            if not isinstance(outcome, MeasuringError) and outcome.fitness > 0:
                reached[index] = outcome.fitness
            on_run()
        return reached

    in_long = fitness_in(longest_seconds)
    errors: list[float] = []
    tried = lengths(slice_seconds, longest_seconds)
    for slices in tried:
        errors.append(mistake(fitness_in(slices * slice_seconds), in_long))
        if errors[-1] <= within:
            break
    return Horizon(tried[len(errors) - 1], errors[-1], errors[0])


def mistake(short: dict[int, float], long: dict[int, float]) -> float:
    """Return the error of short runs, relative to long ones.

    Args:
        short: fitness in short runs, by number, of the subjects that can run.
        long: fitness in long runs, by number.

    Returns:
        The largest relative error of a ratio of two of them; 0 if there are no two.
    """
    both = [index for index in long if index in short]
    if not both:
        return 0.0
    best_short, best_long = (max(reached[i] for i in both) for reached in (short, long))
    # A table that seems better than it is counts as much as one that seems worse.
    good = [i for i in both if short[i] >= GOOD * best_short or long[i] >= GOOD * best_long]
    errors = [math.log(short[i] / long[i]) for i in good]
    return math.expm1(max(errors) - min(errors))
