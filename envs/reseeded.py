"""Repeats of a run that draws nothing: each on a machine of a seed of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from envs.evaluator import Evaluator
from envs.round import Outcome, RunRound
from envs.subject import Subject


def reseeded(open_evaluator: Callable[[int], Evaluator], first_seed: int) -> RunRound:
    """Rounds that differ in which of several cores goes first, where all else is the same.

    A replay draws no inputs, and virtual cores begin at the beginning every time: repeats on one
    machine are the same run, to the bit, and say nothing of how far another may be away. The first
    round is on the machine as it is set.

    Args:
        open_evaluator: an evaluator on the machine whose seed is so much more than what is set.
        first_seed: of the first round.
    """

    def run_round(
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
    ) -> Iterator[tuple[int, Outcome]]:
        with closing(open_evaluator(seed - first_seed)) as evaluator:
            yield from evaluator.run_round(subjects, seconds, warmup=warmup, seed=seed, check=check)

    return run_round
