"""`silo_tuned`: find the constant backoff that suits Silo best on this workload and machine."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from envs.round import RunRound, finished
from envs.subject import static_silo
from policies import INITIAL_US


@dataclass(frozen=True)
class BackoffSweep:
    """The outcome of a sweep.

    Attributes:
        best_us: the constant that won, µs.
        throughput: median throughput by constant, in µs, of those measured to the end.
    """

    best_us: float
    throughput: dict[float, float]


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
        """Of all constants together."""
        finalists = min(self.finalists, len(self.levels_us))
        return len(self.levels_us) * self.rounds + finalists * self.final_rounds


def sweep_static_backoff(
    run_round: RunRound, plan: SweepPlan, seed: int, on_run: Callable[[], None] = lambda: None
) -> BackoffSweep:
    """Measure Silo under each constant, in turns, then repeat the best few and take the best.

    Every round runs all constants on common inputs in a new order, so that drift of the machine
    falls on all of them alike; at first a constant's worth is the median over rounds of its
    throughput relative to the round's mean.

    Of the finalists that is best which commits most over all of its final rounds. A median would
    be wrong there: under a constant that is a little too short, Silo is quick until the aborted
    attempts get the better of it, and from then on it stays slow. A run may be over before that
    comes, so the final ones are longer, and those in which it came count like any other.

    Args:
        run_round: measures the constants of a round.
        plan: how much to measure.
        seed: of the inputs and of the order.
        on_run: called after every run.
    """
    order = Random(seed)
    throughput: dict[float, list[float]] = {level: [] for level in plan.levels_us}
    relative: dict[float, list[float]] = {level: [] for level in plan.levels_us}

    def measure_round(levels: Sequence[float], number: int, slices: int = 1) -> None:
        measured = {}
        shuffled = order.sample(list(levels), len(levels))
        for index, outcome in run_round(
            [static_silo(level) for level in shuffled],
            slices * plan.seconds,
            warmup=plan.warmup,
            seed=seed + number,
        ):
            measured[shuffled[index]] = finished(outcome).fitness
            on_run()
        mean = statistics.fmean(measured.values()) or 1.0
        for level, value in measured.items():
            throughput[level].append(value)
            relative[level].append(value / mean)

    for number in range(plan.rounds):
        measure_round(plan.levels_us, number)
    ranked = sorted(plan.levels_us, key=lambda level: -statistics.median(relative[level]))
    finalists = ranked[: plan.finalists]
    for number in range(plan.rounds, plan.rounds + plan.final_rounds):
        measure_round(finalists, number, plan.final_slices)
    best = max(finalists, key=lambda level: sum(throughput[level][plan.rounds :]))
    return BackoffSweep(best, {level: statistics.median(v) for level, v in throughput.items()})
