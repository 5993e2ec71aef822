"""Choice of the champion: the top candidates of a search, measured again side by side.

The samples of a search's best candidate are biased upwards by the selection. So the finalists run
again in interleaved rounds on common inputs, and only these new samples decide. The choice is by
successive halving: each stage eliminates the worse half.

With several scenarios each finalist runs in all of them, on inputs that the finalists share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from envs import MeasuringError, Result, RunRound, Subject, finished, trimmed_mean
from envs.objective import THROUGHPUT, Objective, excess, limited
from trainer.evaluation.combination import COMBINATIONS, Combination


@dataclass(frozen=True)
class Verdict:
    """The outcome of the choice.

    Attributes:
        order: positions of the finalists, best first: by stage reached, then by score.
        scores: the fitness of each finalist, 0 if it failed. The value of the objective in a
            scenario is relative to the mean of the last stage's finalists, or to the reference if
            the combination needs one.
        rounds: slices of each finalist, in each scenario.
    """

    order: list[int]
    scores: list[float]
    rounds: list[int]


def stages(count: int) -> list[int]:
    """Return the number of finalists of each stage: halved until two are left."""
    sizes = [count]
    while sizes[-1] > 2:
        sizes.append(math.ceil(sizes[-1] / 2))
    return sizes


def choose_champion(
    run_rounds: Sequence[RunRound],
    finalists: Sequence[Subject],
    *,
    combination: Combination = COMBINATIONS["mean"],
    objectives: Sequence[Objective] = (),
    references: Sequence[Subject] = (),
    rounds: int,
    seconds: float,
    warmup: float,
    seed: int,
    on_slice: Callable[[], None] = lambda: None,
) -> Verdict:
    """Find the best of a few policies.

    Args:
        run_rounds: measure the remaining finalists, one per scenario.
        finalists: at least one.
        combination: combines the scores in the scenarios.
        objectives: what to measure, one per scenario; none = throughput.
        references: one per scenario; needed if the combination needs a unit.
        rounds: slices of each at every stage, in each scenario.
        seconds: length of a slice.
        warmup: unmeasured seconds before each.
        seed: of the inputs and of the order.
        on_slice: called after every slice.

    Raises:
        ValueError: there are no finalists.
        MeasuringError: no finalist can run, or a reference can't.
    """
    if not finalists:
        raise ValueError("there are no finalists")
    order = Random(seed)
    racing = list(range(len(finalists)))
    boards = [
        _Board(len(finalists), objective)
        for objective in objectives or [THROUGHPUT] * len(run_rounds)
    ]
    units = (
        [[reference] for reference in references] if combination.needs_unit else [[]] * len(boards)
    )
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
            for run_round, board, unit in zip(run_rounds, boards, units, strict=True):
                measured = run_round([*subjects, *unit], seconds, warmup=warmup, seed=seed + number)
                for at, outcome in measured:
                    if at == len(shuffled):
                        board.unit.append(board.objective.value(finished(outcome)))
                    elif isinstance(outcome, MeasuringError):
                        failed.add(shuffled[at])
                    else:
                        board.add(shuffled[at], outcome)
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
            scores[index] = limited(
                combination.fitness([found[index] for found in by_scenario]),
                math.prod(board.excess(index) for board in boards),
            )
        racing.sort(key=lambda index: -scores[index])
    return Verdict(racing + ranked, scores, [len(taken) for taken in boards[0].samples])


class _Board:
    """Samples of the finalists in one scenario, by round, and of the reference if it is needed."""

    def __init__(self, finalists: int, objective: Objective) -> None:
        self.objective = objective
        self.samples: list[list[float]] = [[] for _ in range(finalists)]
        self.limit_ratios: list[list[list[float]]] = [[] for _ in range(finalists)]
        self.unit: list[float] = []

    def add(self, index: int, result: Result) -> None:
        """Add a run of a finalist."""
        self.samples[index].append(self.objective.value(result))
        self.limit_ratios[index].append(self.objective.limit_ratios(result))

    def excess(self, index: int) -> float:
        """Return by which factor a finalist exceeds the limits, on the mean over its runs."""
        return excess([fmean(ratios) for ratios in zip(*self.limit_ratios[index], strict=True)])

    def relative(self, racing: Sequence[int]) -> dict[int, float]:
        """Return each finalist's value of the objective ÷ the round's mean over the given ones.

        All of them took part in every measured round. If the reference took part, the results are
        divided by its relative throughput: one factor for all, so that its noise does not change
        their order.
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
            raise MeasuringError("the reference committed nothing; set longer slices")
        return {index: trimmed_mean(values) / unit for index, values in shares.items()}
