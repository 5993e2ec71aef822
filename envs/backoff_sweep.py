"""Find Silo's best backoff on a workload and machine (`silo_tuned`)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from envs.round import RunRound
from envs.subject import Subject, static_silo
from envs.tournament import Tournament, TournamentPlan
from envs.tuned_backoff import TunedBackoff
from policies import INITIAL_US

EXPONENTIAL = Subject("silo", "silo")
"""Silo under its own exponential backoff, which the best constant is compared with."""

SHARE_WAITED = 0.25
"""The longest constant tried, as a share of a run. Hardly anything commits under a longer one."""


@dataclass(frozen=True)
class BackoffSweep:
    """The result of a backoff sweep.

    Attributes:
        best: the best backoff.
        gain: throughput under the best constant divided by that under exponential backoff;
            infinite if nothing commits under exponential backoff.
        throughput: median throughput in commits per second, by constant in µs.
        at_end: whether the best constant is the longest one tried, so that a longer one may be
            better.
    """

    best: TunedBackoff
    gain: float
    throughput: dict[float, float]
    at_end: bool = False

    @property
    def words(self) -> str:
        """The best backoff, its gain and the range of constants tried, as one sentence."""
        found = f"{self.best.words} suits Silo best here"
        constant = f"a constant {self.best.constant_us:g} µs" if self.best.exponential else "it"
        tried = f"{min(self.throughput):g} to {max(self.throughput):g} µs were tried"
        if self.at_end:
            tried += "; the longest is the best of them, so longer runs may find a better one"
        times = f"is {self.gain:.3f} × exponential backoff"
        if math.isinf(self.gain):
            times = "commits, exponential backoff does not"
        return f"{found}; {constant} {times} ({tried})"


@dataclass(frozen=True)
class SweepPlan(TournamentPlan):
    """The measurements of a backoff sweep.

    Attributes:
        levels_us: constants to try, in µs.
    """

    levels_us: Sequence[float] = INITIAL_US

    @property
    def runs(self) -> int:
        """Number of runs, if the best constant is neither the shortest nor the longest."""
        finalists = min(self.finalists, len(self.levels_us))
        return len(self.levels_us) * self.rounds + (finalists + 2) * self.final_rounds

    @property
    def longest_us(self) -> float:
        """The longest constant that the final runs can measure, in µs."""
        return SHARE_WAITED * self.seconds * self.final_slices * 1e6


def sweep_backoff(
    run_round: RunRound, plan: SweepPlan, seed: int, on_run: Callable[[], None] = lambda: None
) -> BackoffSweep:
    """Find the best backoff for Silo among constants and exponential backoff.

    A tournament (`envs.tournament`) finds the best constant. Its final pass uses longer runs and no
    median because of constants that are slightly too short: under these Silo is fast until its
    aborts cascade, and stays slow afterwards.

    If the best constant is the shortest or the longest, the sweep also tries no wait, or twice the
    constant, as long as that is better.

    Args:
        run_round: measures the backoffs of a round.
        plan: the measurements to make.
        seed: seed of the inputs and of the order.
        on_run: called after every run.

    Returns:
        The best backoff, and the throughput of every constant tried.

    Raises:
        MeasuringError: a run failed.
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
    """Return the constant to try beyond the shortest or the longest one, else None."""
    if best == min(tried) and best > 0:
        return 0.0
    return 2 * best if best == max(tried) else None


class _Sweep:
    """Measures Silo under constants and keeps the throughput of each; see `sweep_backoff`."""

    def __init__(
        self, run_round: RunRound, plan: SweepPlan, seed: int, on_run: Callable[[], None]
    ) -> None:
        self.throughput: dict[float, list[float]] = {}
        self._levels_us = plan.levels_us
        self._on_run = on_run
        self._tournament = Tournament(run_round, plan, seed, self._keep)

    def finalists(self) -> list[float]:
        """Return the constants that are best in short runs."""
        levels = self._levels_us
        subjects = [static_silo(level) for level in levels]
        return [levels[at] for at in self._tournament.finalists(subjects)]

    def best_of(self, levels: Sequence[float]) -> float:
        """Return the constant with the most commits in long runs, the first of equal ones."""
        return levels[self._tournament.best([static_silo(level) for level in levels])]

    def over_exponential(self, level: float) -> float:
        """Return Silo's commits under a constant divided by those under exponential backoff."""
        constant, exponential = self._tournament.totals([static_silo(level), EXPONENTIAL])
        return constant / exponential if exponential else math.inf

    def _keep(self, subject: Subject, value: float) -> None:
        if subject.backoff == "static":
            self.throughput.setdefault(subject.backoff_us, []).append(value)
        self._on_run()
