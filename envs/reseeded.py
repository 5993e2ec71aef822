"""Repeat a run without random inputs, each time with another seed of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from envs.evaluator import Evaluator
from envs.round import Outcome, RunRound
from envs.subject import Subject


def reseeded(open_evaluator: Callable[[int], Evaluator], first_seed: int) -> RunRound:
    """Return a function that measures each round on a machine with another seed.

    A replay draws no inputs, so on virtual cores its repeats are the same run, bit for bit, and
    show no variance. The seed of the machine decides which of several ready cores runs first. The
    first round uses the configured seed.

    Args:
        open_evaluator: returns an evaluator whose machine has the configured seed plus the
            argument.
        first_seed: seed of the first round.
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
