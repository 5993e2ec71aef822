"""Forecasts the time and memory of a training by short runs before it begins."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psutil

from envs import THREADS, Outcome, RunRound, Subject, finished, static_silo
from trainer.config import SearchConfig, TrainConfig
from trainer.duration import duration_words
from trainer.phases import Cost, Phase, most_seconds, phase_seconds
from trainer.scenario import Scenario
from trainer.search.space import store_of

UNKNOWN = "in an unknown time; search.seconds= or budget= bounds it"


@dataclass(frozen=True)
class Forecast:
    """The forecast of a training.

    Attributes:
        seconds: of each phase; None for a search without a bound in seconds.
        most: seconds of each phase if its comparisons need all repeats.
        loading: seconds that loading the databases took, which are spent already.
        memory: bytes that the processes hold with the databases loaded.
        growth: bytes by which databases may grow before they are reloaded.
        available: bytes of available memory.
        bounds: of the search, in words, without that in seconds; empty if there are none.
    """

    seconds: dict[Phase, float | None]
    most: dict[Phase, float]
    loading: float
    memory: int
    growth: int
    available: int
    bounds: str = ""

    @property
    def total(self) -> float:
        """Return the seconds of all phases whose length is known."""
        return sum(found for found in self.seconds.values() if found is not None)

    @property
    def open_ended(self) -> bool:
        """Return whether the time of the search is unknown, since only a count bounds it."""
        return self.seconds.get(Phase.SEARCH, 0.0) is None

    def lines(self, now: datetime | None = None) -> list[str]:
        """Return the forecast for people."""
        parts = [
            f"{phase} {self._words(phase)}"
            for phase, found in self.seconds.items()
            if found is None or found > 0
        ]
        ends = (now or datetime.now(UTC)) + timedelta(seconds=self.total)
        when = (
            f"{duration_words(self.total)} and the search"
            if self.open_ended
            else f"{duration_words(self.total)}, to {ends:%H:%M} UTC"
        )
        lines = [
            f"forecast: {when}: {', '.join(parts)}",
            f"memory: {_size(self.memory)} with the databases loaded, which took "
            f"{duration_words(self.loading)}; they may grow by {_size(self.growth)}, and "
            f"{_size(self.available)} are left",
        ]
        if self.growth > self.available:
            lines.append(
                "memory may not suffice; lower evaluation.grown_mib_max, or take a smaller workload"
            )
        return lines

    def _words(self, phase: Phase) -> str:
        seconds = self.seconds[phase]
        if seconds is None:
            return f"{self.bounds or 'as long as it takes'} {UNKNOWN}"
        if phase is Phase.SEARCH and self.bounds:
            return f"{duration_words(seconds)} at most, or {self.bounds}"
        most = self.most.get(phase, seconds)
        up_to = f" (undecided: to {duration_words(most)})" if most > 1.1 * seconds else ""
        return f"{duration_words(seconds)}{up_to}"


class TimedRounds:
    """Measures the time of rounds, to estimate the cost of a second of a run.

    Args:
        per_second: the estimate before any round.
    """

    def __init__(self, per_second: float = 1.0) -> None:
        self._known = per_second
        self._wall = 0.0
        self._runs = 0.0

    @property
    def per_second(self) -> float:
        """Return the seconds that pass for each second of a run."""
        return self._wall / self._runs if self._runs > 0 else self._known

    def of(self, run_round: RunRound) -> RunRound:
        """Return the same rounds, with their time measured."""

        def timed(
            subjects: Sequence[Subject],
            seconds: float,
            *,
            warmup: float,
            seed: int,
            check: bool = False,
        ) -> Iterator[tuple[int, Outcome]]:
            begun = time.monotonic()
            yield from run_round(subjects, seconds, warmup=warmup, seed=seed, check=check)
            self._wall += time.monotonic() - begun
            self._runs += len(subjects) * (seconds + warmup)

        return timed


def measure_cost(config: TrainConfig, rounds: Sequence[RunRound]) -> Cost:
    """Measure the cost of measurements: load the databases, and run Silo, or the store, for slices.

    Args:
        config: all settings.
        rounds: measure, one per scenario.

    Raises:
        MeasuringError: Silo, or the store, can't run.
    """
    # Virtual cores are simulated by one process per real core.
    count = len(os.sched_getaffinity(0)) if config.machine.kind != THREADS["kind"] else 1
    subjects = [store_of(config.search) or static_silo(1.0)] * count
    seconds, warmup = config.tuning.slice_seconds, config.tuning.warmup_seconds
    loading, timed = 0.0, TimedRounds()
    for run_round in rounds:
        begun = time.monotonic()
        for _, outcome in run_round(subjects, seconds, warmup=warmup, seed=config.seed):
            finished(outcome)
        first = time.monotonic() - begun
        again = timed.of(run_round)
        begun = time.monotonic()
        for _, outcome in again(subjects, seconds, warmup=warmup, seed=config.seed):
            finished(outcome)
        loading += max(0.0, first - (time.monotonic() - begun))
    return Cost(timed.per_second, loading)


def forecast(
    config: TrainConfig, scenarios: Sequence[Scenario], cost: Cost, workers: int
) -> Forecast:
    """Return the forecast of a training.

    Args:
        config: all settings, shortened by a budget if there is one.
        scenarios: the scenarios of the training.
        cost: of measurements.
        workers: processes that hold databases.
    """
    found = {phase: phase_seconds(config, scenarios, phase, cost) for phase in Phase}
    most = {
        phase: most_seconds(config, scenarios, phase, seconds)
        for phase, seconds in found.items()
        if seconds is not None
    }
    growth = workers * len(scenarios) * (config.evaluation.grown_mib_max << 20)
    return Forecast(
        found,
        most,
        cost.loading,
        resident_bytes(),
        growth,
        psutil.virtual_memory().available,
        _bounds(config.search),
    )


def _bounds(search: SearchConfig) -> str:
    """Return the bounds of a search other than its seconds, in words."""
    bounds = (("generations", search.generations), ("evaluations", search.evaluations))
    return " or ".join(f"{count:,} {what}" for what, count in bounds if count is not None)


def resident_bytes() -> int:
    """Return the resident memory of this process and its children; shared pages count in each."""
    total = 0
    parent = psutil.Process()
    for process in (parent, *parent.children(recursive=True)):
        try:
            total += process.memory_info().rss
        except psutil.Error:  # the process has ended
            continue
    return total


def _size(count: float) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
