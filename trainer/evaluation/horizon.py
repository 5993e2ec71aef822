"""How long candidates must run on virtual cores for the short runs of a race to be worth anything.

A run begins with every core at the start of its backoff. Where transactions are often aborted, the
times to wait then grow for milliseconds, and for so long a table whose waits grow looks worse than
one that begins with long ones. How long that takes depends on the workload: so it is measured, on
tables that are known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envs import MeasuringError, RunRound, Subject

GOOD = 0.5
"""A table with less of the best one's fitness, whether in short or in long runs, is not looked at:
how bad it is matters to nobody."""


@dataclass(frozen=True)
class Horizon:
    """What was found.

    Attributes:
        slices: the slices that a rung needs for each that the settings give it.
        error: the relative error of a table's fitness in a rung of that length.
        shortest_error: the same in a rung as the settings give it.
    """

    slices: int
    error: float
    shortest_error: float


def lengths(slice_seconds: float, longest_seconds: float) -> list[int]:
    """The lengths that are tried, in slices: doubled as long as that is less than the longest."""
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
    """The shortest runs that tell the subjects apart as a long run does.

    Args:
        run_round: measures, on virtual cores.
        subjects: tables that differ; at least two that can run, or there is nothing to tell.
        slice_seconds: length of a slice.
        warmup: unmeasured seconds before a run.
        longest_seconds: of the long run.
        within: by how much, relatively, a fitness relative to the others' may be mistaken.
        seed: of the inputs.
        on_run: called after every run.

    Returns:
        The first length of `lengths` that is good enough, or the last of them.
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
    """By how much short runs mistake how good the subjects are beside each other.

    Args:
        short: their fitness in short runs, by number, of those that can run.
        long: likewise in long ones.

    Returns:
        The largest relative error of a ratio of two of them; 0 if there are no two.
    """
    both = [index for index in long if index in short]
    if not both:
        return 0.0
    best_short, best_long = (max(reached[i] for i in both) for reached in (short, long))
    # A table that only seems to be good counts as well as one that only seems to be bad.
    good = [i for i in both if short[i] >= GOOD * best_short or long[i] >= GOOD * best_long]
    errors = [math.log(short[i] / long[i]) for i in good]
    return math.expm1(max(errors) - min(errors))
