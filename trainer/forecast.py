"""What a training will take, in time and memory: measured by some short runs before it begins."""

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

UNKNOWN = "in a time that can't be known before; search.seconds= or budget= bounds it"


@dataclass(frozen=True)
class Forecast:
    """What a training will take.

    Attributes:
        seconds: of each phase; None of a search without a bound in seconds.
        most: of the same, where repeats continue until a comparison is decided.
        loading: seconds until the databases were loaded, which are over.
        memory: bytes that the processes hold with the databases loaded.
        growth: bytes that databases may grow by before they are loaded anew.
        available: bytes of memory that are left.
        bounds: of the search, but for that in seconds, in words; empty without one.
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
        """Seconds of all phases whose length is known."""
        return sum(found for found in self.seconds.values() if found is not None)

    @property
    def open_ended(self) -> bool:
        """Whether the search is bounded by a count, so that its time is not known."""
        return self.seconds.get(Phase.SEARCH, 0.0) is None

    def lines(self, now: datetime | None = None) -> list[str]:
        """The forecast for people."""
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
    """Rounds whose time is taken: what a second of a run costs is known better and better.

    Args:
        per_second: what it costs as far as is known before.
    """

    def __init__(self, per_second: float = 1.0) -> None:
        self._known = per_second
        self._wall = 0.0
        self._runs = 0.0

    @property
    def per_second(self) -> float:
        """Seconds that passed for each second of a run."""
        return self._wall / self._runs if self._runs > 0 else self._known

    def of(self, run_round: RunRound) -> RunRound:
        """The same rounds, timed."""

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
    """What measuring costs here: the databases are loaded, and Silo runs for some slices.

    Args:
        config: all settings.
        rounds: measure, one per scenario.

    Raises:
        MeasuringError: Silo can't run.
    """
    # Virtual cores are simulated by as many processes as there are real ones, each on its own.
    count = len(os.sched_getaffinity(0)) if config.machine.kind != THREADS["kind"] else 1
    subjects = [static_silo(1.0)] * count
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
    """What a training will take.

    Args:
        config: all settings, as far as a budget has changed them.
        scenarios: what is trained for.
        cost: of measuring here.
        workers: processes that keep databases.
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
    """What ends a search besides its seconds, in words."""
    bounds = (("generations", search.generations), ("evaluations", search.evaluations))
    return " or ".join(f"{count:,} {what}" for what, count in bounds if count is not None)


def resident_bytes() -> int:
    """Memory that this process and those it started hold; pages that they share count once each."""
    total = 0
    process = psutil.Process()
    for one in (process, *process.children(recursive=True)):
        try:
            total += one.memory_info().rss
        except psutil.Error:  # it has ended meanwhile
            continue
    return total


def _size(count: float) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
