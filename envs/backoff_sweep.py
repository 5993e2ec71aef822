"""`silo_tuned`: find the backoff that suits Silo best on this workload and machine."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

from envs.round import RunRound, finished
from envs.subject import Subject, static_silo
from envs.tuned_backoff import TunedBackoff
from policies import INITIAL_US

EXPONENTIAL = Subject("silo", "silo")
"""Silo under its own backoff: what the best constant has to beat."""

SHARE_WAITED = 0.25
"""A constant is no longer than this share of a run: in a longer wait hardly anything happens."""


@dataclass(frozen=True)
class BackoffSweep:
    """The outcome of a sweep.

    Attributes:
        best: the backoff that won.
        gain: throughput under the best constant ÷ under exponential backoff; infinite if nothing
            was committed under the latter.
        throughput: median throughput by constant, in µs, of those that were tried.
        at_end: whether the best constant is the longest that can be tried, and a longer one may
            be better still.
    """

    best: TunedBackoff
    gain: float
    throughput: dict[float, float]
    at_end: bool = False

    @property
    def words(self) -> str:
        """What won, and where the optimum lies."""
        found = f"{self.best.words} suits Silo best here"
        constant = f"a constant {self.best.constant_us:g} µs" if self.best.exponential else "it"
        tried = f"{min(self.throughput):g} to {max(self.throughput):g} µs were tried"
        if self.at_end:
            tried += ", and the longest is the best of them: longer runs may show a better one"
        times = f"is {self.gain:.3f} × exponential backoff"
        if math.isinf(self.gain):
            times = "commits, and exponential backoff does not"
        return f"{found}; {constant} {times} ({tried})"


@dataclass(frozen=True)
class SweepPlan:
    """How much a sweep measures.

    Attributes:
        seconds: length of a slice.
        warmup: unmeasured seconds before each.
        rounds: slices of every constant in the coarse pass.
        finalists: how many of the best are repeated.
        final_rounds: further runs of each of those.
        final_slices: how many slices long each of these is.
        levels_us: the constants to try, µs.
    """

    seconds: float = 0.1
    warmup: float = 0.01
    rounds: int = 3
    finalists: int = 4
    final_rounds: int = 9
    final_slices: int = 1
    levels_us: Sequence[float] = INITIAL_US

    @property
    def runs(self) -> int:
        """Of all backoffs together, if the best is not at an end of the constants to try."""
        finalists = min(self.finalists, len(self.levels_us))
        return len(self.levels_us) * self.rounds + (finalists + 2) * self.final_rounds

    @property
    def longest_us(self) -> float:
        """The longest constant that its runs can measure, µs."""
        return SHARE_WAITED * self.seconds * self.final_slices * 1e6


def sweep_backoff(
    run_round: RunRound, plan: SweepPlan, seed: int, on_run: Callable[[], None] = lambda: None
) -> BackoffSweep:
    """Measure Silo under each constant, in turns, then the best few beside exponential backoff.

    Every round runs all constants on common inputs in a new order, so that drift of the machine
    falls on all of them alike; at first a constant's worth is the median over rounds of its
    throughput relative to the round's mean.

    Of the finalists that is best which commits most over all of its final rounds. A median would
    be wrong there: under a constant that is a little too short, Silo is quick until the aborted
    attempts get the better of it, and from then on it stays slow. A run may be over before that
    comes, so the final ones are longer, and those in which it came count like any other.

    Where the best constant is the shortest or the longest, the sweep extends beyond it, as long as
    that is better: to no wait at all, or to twice as long a one.

    Args:
        run_round: measures the backoffs of a round.
        plan: how much to measure.
        seed: of the inputs and of the order.
        on_run: called after every run.
    """
    sweep = _Sweep(run_round, plan, seed, on_run)
    best = sweep.best_of(sweep.finalists())
    at_end = False
    while (beyond := _beyond(best, sweep.throughput)) is not None:
        if beyond > plan.longest_us:
            at_end = True
            break
        if sweep.best_of([best, beyond]) == best:
            break
        best = beyond
    gain = sweep.over_exponential(best)
    tuned = TunedBackoff(best, exponential=gain < 1)
    found = {level: statistics.median(taken) for level, taken in sweep.throughput.items()}
    return BackoffSweep(tuned, gain, found, at_end)


def _beyond(best: float, tried: Iterable[float]) -> float | None:
    """What is tried next after a constant at an end; None if it is at none."""
    if best == min(tried) and best > 0:
        return 0.0
    return 2 * best if best == max(tried) else None


class _Sweep:
    """What was measured, by constant.

    Args: as of `sweep_backoff`.
    """

    def __init__(
        self, run_round: RunRound, plan: SweepPlan, seed: int, on_run: Callable[[], None]
    ) -> None:
        self.throughput: dict[float, list[float]] = {}
        self._run_round = run_round
        self._plan = plan
        self._seed = seed
        self._on_run = on_run
        self._order = Random(seed)
        self._rounds = 0

    def finalists(self) -> list[float]:
        """The constants that are best in short runs."""
        levels = self._plan.levels_us
        subjects = [static_silo(level) for level in levels]
        relative: list[list[float]] = [[] for _ in levels]
        for _ in range(self._plan.rounds):
            measured = self._round(subjects, 1)
            mean = statistics.fmean(measured.values()) or 1.0
            for at, value in measured.items():
                relative[at].append(value / mean)
        ranked = sorted(range(len(levels)), key=lambda at: -statistics.median(relative[at]))
        return [levels[at] for at in ranked[: self._plan.finalists]]

    def best_of(self, levels: Sequence[float]) -> float:
        """The constant of a few that commits most in long runs; of equals the first."""
        totals = self._totals([static_silo(level) for level in levels])
        return levels[max(range(len(levels)), key=lambda at: totals[at])]

    def over_exponential(self, level: float) -> float:
        """What Silo commits in long runs under a constant ÷ under exponential backoff."""
        constant, exponential = self._totals([static_silo(level), EXPONENTIAL])
        return constant / exponential if exponential else math.inf

    def _totals(self, subjects: Sequence[Subject]) -> list[float]:
        """What each commits over its long runs, commits a second, summed."""
        plan, totals = self._plan, [0.0] * len(subjects)
        for _ in range(plan.final_rounds):
            for at, value in self._round(subjects, plan.final_slices).items():
                totals[at] += value
        return totals

    def _round(self, subjects: Sequence[Subject], slices: int) -> dict[int, float]:
        """A run of each, on inputs that no round before had; by position, commits a second."""
        plan, measured = self._plan, {}
        shuffled = self._order.sample(range(len(subjects)), len(subjects))
        for index, outcome in self._run_round(
            [subjects[at] for at in shuffled],
            slices * plan.seconds,
            warmup=plan.warmup,
            seed=self._seed + self._rounds,
        ):
            subject, value = subjects[shuffled[index]], finished(outcome).fitness
            measured[shuffled[index]] = value
            if subject.backoff == "static":
                self.throughput.setdefault(subject.backoff_us, []).append(value)
            self._on_run()
        self._rounds += 1
        return measured
