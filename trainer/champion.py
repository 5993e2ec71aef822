"""Choosing the policy to ship: the top candidates measured anew, side by side.

The best of a search is partly luck: whoever was measured best was also measured luckiest. So the
finalists start again from nothing, in interleaved rounds on common inputs, and only these fresh
samples decide (successive halving: after each stage the worse half leaves, the rest stay).

In a mix each finalist runs in every scenario, on inputs that all finalists share there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from envs import MeasuringError, RunRound, Subject, finished, trimmed_mean
from trainer.evaluation.objective import OBJECTIVES, Objective


@dataclass(frozen=True)
class Verdict:
    """The outcome.

    Attributes:
        order: positions of the finalists, best first: by stage reached, then by score.
        scores: of each finalist, what the objective makes of its throughput in each scenario; that
            is relative to the mean of those it was last compared with there, or to the reference
            where the objective asks for one. 0 if it failed.
        rounds: slices of each finalist, in each scenario.
    """

    order: list[int]
    scores: list[float]
    rounds: list[int]


def stages(count: int) -> list[int]:
    """How many finalists each stage has: halved until two are left, which meet once."""
    sizes = [count]
    while sizes[-1] > 2:
        sizes.append(math.ceil(sizes[-1] / 2))
    return sizes


def choose_champion(
    run_rounds: Sequence[RunRound],
    finalists: Sequence[Subject],
    *,
    objective: Objective = OBJECTIVES["mean"],
    references: Sequence[Subject] = (),
    rounds: int,
    seconds: float,
    warmup: float,
    seed: int,
    on_slice: Callable[[], None] = lambda: None,
) -> Verdict:
    """Find the best of a few policies.

    Args:
        run_rounds: measure those still in, one per scenario.
        finalists: at least one.
        objective: what makes one score of those in the scenarios.
        references: one per scenario; they take part where the objective needs a unit, and must be
            there then.
        rounds: slices of each at every stage, in each scenario.
        seconds: length of a slice.
        warmup: unmeasured seconds before each.
        seed: of the inputs and of the order.
        on_slice: called after every slice.

    Raises:
        ValueError: there are no finalists.
        MeasuringError: none of them can run, or a reference can't.
    """
    if not finalists:
        raise ValueError("there are no finalists to choose from")
    order = Random(seed)
    racing = list(range(len(finalists)))
    boards = [_Board(len(finalists)) for _ in run_rounds]
    yardsticks = [[one] for one in references] if objective.needs_unit else [[] for _ in boards]
    scores = [0.0] * len(finalists)
    ranked: list[int] = []
    number = 0
    for size in stages(len(finalists)):
        ranked = racing[size:] + ranked
        racing = racing[:size]
        for _ in range(rounds):
            shuffled = order.sample(racing, len(racing))
            subjects = [finalists[index] for index in shuffled]
            failed = set()
            for run_round, board, beside in zip(run_rounds, boards, yardsticks, strict=True):
                measured = run_round(
                    [*subjects, *beside], seconds, warmup=warmup, seed=seed + number
                )
                for at, outcome in measured:
                    if at == len(shuffled):
                        board.unit.append(finished(outcome).fitness)
                    elif isinstance(outcome, MeasuringError):
                        failed.add(shuffled[at])
                    else:
                        board.samples[shuffled[at]].append(outcome.fitness)
                    on_slice()
            for index in sorted(failed):
                racing.remove(index)
                ranked.append(index)
                scores[index] = 0.0
            number += 1
        if not racing:
            raise MeasuringError("none of the best candidates can run; see the engine's messages")
        by_scenario = [board.relative(racing) for board in boards]
        for index in racing:
            scores[index] = objective.fitness([found[index] for found in by_scenario])
        racing.sort(key=lambda index: -scores[index])
    return Verdict(racing + ranked, scores, [len(taken) for taken in boards[0].samples])


class _Board:
    """What the finalists reached in one scenario, by round, and the reference if it takes part."""

    def __init__(self, finalists: int) -> None:
        self.samples: list[list[float]] = [[] for _ in range(finalists)]
        self.unit: list[float] = []

    def relative(self, racing: Sequence[int]) -> dict[int, float]:
        """Each one's throughput relative to the round's mean over those still in.

        Every round that was measured had all of them in it. Relative to the reference, if it took
        part: by one factor for all, so that its noise does not decide between them.
        """
        shares: dict[int, list[float]] = {index: [] for index in racing}
        units: list[float] = []
        for number, values in enumerate(
            zip(*(self.samples[index] for index in racing), strict=True)
        ):
            mean = sum(values) / len(values) or 1.0
            for index, value in zip(racing, values, strict=True):
                shares[index].append(value / mean)
            if self.unit:
                units.append(self.unit[number] / mean)
        unit = trimmed_mean(units) if units else 1.0
        if unit == 0.0:
            raise MeasuringError("the reference committed nothing; take longer slices")
        return {index: trimmed_mean(values) / unit for index, values in shares.items()}
