"""Find the best of many subjects: all in short runs, then the best of these in long ones."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from envs.round import RunRound, finished
from envs.subject import Subject


@dataclass(frozen=True)
class TournamentPlan:
    """The measurements of a tournament.

    Attributes:
        seconds: length of a slice in seconds.
        warmup: unmeasured seconds before each run.
        rounds: slices of each subject in the coarse pass.
        finalists: number of best subjects that are measured again.
        final_rounds: further runs of each finalist.
        final_slices: length of such a run in slices.
    """

    seconds: float = 0.1
    warmup: float = 0.01
    rounds: int = 3
    finalists: int = 4
    final_rounds: int = 9
    final_slices: int = 1


class Tournament:
    """Measures subjects in rounds, each on new inputs and in a new order.

    A round runs every subject once on the same inputs, so that drift of the machine affects all of
    them equally.

    Args:
        run_round: measures the subjects of a round.
        plan: the measurements to make.
        seed: seed of the inputs and of the order.
        on_run: called after every run with its subject and its commits per second.
    """

    def __init__(
        self,
        run_round: RunRound,
        plan: TournamentPlan,
        seed: int,
        on_run: Callable[[Subject, float], None],
    ) -> None:
        self._run_round = run_round
        self._plan = plan
        self._seed = seed
        self._on_run = on_run
        self._order = Random(seed)
        self._rounds = 0

    def finalists(self, subjects: Sequence[Subject]) -> list[int]:
        """Return the positions of the subjects that are best in short runs, the best one first.

        The rank is the median of the throughput relative to the mean of the round.

        Raises:
            MeasuringError: a run failed.
        """
        relative: list[list[float]] = [[] for _ in subjects]
        for _ in range(self._plan.rounds):
            measured = self._round(subjects, 1)
            mean = statistics.fmean(measured.values()) or 1.0
            for at, value in measured.items():
                relative[at].append(value / mean)
        ranked = sorted(range(len(subjects)), key=lambda at: -statistics.median(relative[at]))
        return ranked[: self._plan.finalists]

    def totals(self, subjects: Sequence[Subject]) -> list[float]:
        """Return each subject's commits per second, summed over its long runs.

        Raises:
            MeasuringError: a run failed.
        """
        plan, totals = self._plan, [0.0] * len(subjects)
        for _ in range(plan.final_rounds):
            for at, value in self._round(subjects, plan.final_slices).items():
                totals[at] += value
        return totals

    def best(self, subjects: Sequence[Subject]) -> int:
        """Return the position of the subject with the most commits in long runs.

        It is the first of equal ones.

        Raises:
            MeasuringError: a run failed.
        """
        totals = self.totals(subjects)
        return max(range(len(subjects)), key=lambda at: totals[at])

    def _round(self, subjects: Sequence[Subject], slices: int) -> dict[int, float]:
        """Run each subject once on new inputs; return commits per second by position."""
        plan, measured = self._plan, {}
        shuffled = self._order.sample(range(len(subjects)), len(subjects))
        for index, outcome in self._run_round(
            [subjects[at] for at in shuffled],
            slices * plan.seconds,
            warmup=plan.warmup,
            seed=self._seed + self._rounds,
        ):
            at, value = shuffled[index], finished(outcome).fitness
            measured[at] = value
            self._on_run(subjects[at], value)
        self._rounds += 1
        return measured
