"""Sweeps and comparisons that show their progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from envs import (
    TUNED,
    Comparison,
    ComparisonPlan,
    Result,
    RunRound,
    Subject,
    SweepPlan,
    TunedBackoff,
    compare,
    sweep_backoff,
)
from envs.external_sweep import runs_of, settings, sweep_external
from trainer.config import EvaluationConfig, TuningConfig, VerdictConfig
from trainer.evaluation.horizon import find_horizon, lengths
from trainer.progress import Display


class Counter:
    """Counts slices and shows the progress."""

    def __init__(self, display: Display, phase: str, total: int) -> None:
        self._display = display
        self._done = 0
        display.begin(phase, total)

    def step(self, words: str = "") -> None:
        """Count one more slice."""
        self._done += 1
        self._display.update(self._done, words)


def tune_silo(
    run_round: RunRound, tuning: TuningConfig, seed: int, display: Display, where: str = ""
) -> TunedBackoff:
    """Find the backoff with which Silo is fastest on this machine (`silo_tuned`).

    Args:
        run_round: measures.
        tuning: the amount of measuring.
        seed: of the inputs and of the order.
        display: shows the progress.
        where: a prefix for the messages.
    """
    plan = _plan(tuning)
    counter = Counter(display, f"{where}tune the backoff of {TUNED}", plan.runs)
    sweep = sweep_backoff(run_round, plan, seed, counter.step)
    display.say(f"{where}{TUNED}: {sweep.words}")
    return sweep.best


def tune_external(
    run_round: RunRound,
    subject: Subject,
    workers: int,
    tuning: TuningConfig,
    seed: int,
    display: Display,
    where: str = "",
) -> Subject:
    """Return an external store with the settings with which it is fastest (`external_tuned`).

    Args:
        run_round: measures.
        subject: the store, without the settings that the sweep finds.
        workers: number of workers.
        tuning: the amount of measuring.
        seed: of the inputs and of the order.
        display: shows the progress.
        where: a prefix for the messages.
    """
    tried = settings(subject, workers)
    plan = _plan(tuning)
    counter = Counter(display, f"{where}tune {subject.name}", runs_of(plan, len(tried)))
    sweep = sweep_external(run_round, tried, plan, seed, counter.step)
    display.say(f"{where}{subject.name}: {sweep.words}")
    return sweep.best


def _plan(tuning: TuningConfig) -> SweepPlan:
    return SweepPlan(
        seconds=tuning.slice_seconds,
        warmup=tuning.warmup_seconds,
        rounds=tuning.rounds,
        finalists=tuning.finalists,
        final_rounds=tuning.final_rounds,
        final_slices=tuning.final_slices,
    )


def find_rung_stretch(
    run_round: RunRound,
    subjects: Sequence[Subject],
    evaluation: EvaluationConfig,
    longest_seconds: float,
    seed: int,
    display: Display,
    where: str = "",
) -> int:
    """Return the factor on the slices of a rung's setting (`find_horizon`).

    `where` is a prefix for the messages.
    """
    if evaluation.settled is None:
        return 1
    tried = lengths(evaluation.slice_seconds, longest_seconds)
    counter = Counter(
        display, f"{where}find the length of a rung", len(subjects) * (1 + len(tried))
    )
    found = find_horizon(
        run_round,
        subjects,
        slice_seconds=evaluation.slice_seconds,
        warmup=evaluation.warmup_seconds,
        longest_seconds=longest_seconds,
        within=evaluation.settled,
        seed=seed,
        on_run=counter.step,
    )
    first_ms = found.slices * evaluation.slice_seconds * 1e3
    display.say(
        f"{where}first rung {first_ms:g} ms: seed ratios within {found.error:.0%} of a "
        f"{longest_seconds * 1e3:g} ms run"
        + (
            f"; with {evaluation.slice_seconds * 1e3:g} ms within {found.shortest_error:.0%}"
            if found.slices > 1
            else ""
        )
    )
    return found.slices


def compare_shown(
    run_round: RunRound,
    subjects: Sequence[Subject],
    plan: ComparisonPlan,
    seed: int,
    display: Display,
    phase: str = "compare",
    enough: Callable[[Comparison], bool] = lambda comparison: True,
) -> Comparison:
    """Compare subjects, as `compare` does, and show the progress under the name `phase`."""
    counter = Counter(display, phase, len(subjects) * plan.repeats)

    def on_slice(subject: Subject, result: Result) -> None:
        counter.step(f"{subject.name} {result.fitness:,.0f}/s")

    def ends(comparison: Comparison) -> bool:
        nonlocal counter
        if enough(comparison):
            return True
        counter = Counter(display, phase, len(subjects) * _further(comparison, plan))
        return False

    return compare(run_round, subjects, plan, seed, on_slice, ends)


def compare_until(
    run_round: RunRound,
    subjects: Sequence[Subject],
    plan: ComparisonPlan,
    seed: int,
    display: Display,
    decided: Callable[[Comparison], bool],
    sure: VerdictConfig,
    phase: str = "compare",
) -> Comparison:
    """Compare subjects until the comparison is decided or its budget is spent.

    Args:
        run_round: measures.
        subjects: what to compare.
        plan: the minimum and maximum of repeats.
        seed: of the inputs and of the order.
        display: shows the progress.
        decided: whether further repeats would change nothing.
        sure: the budget.
        phase: the name for the progress.

    Raises:
        MeasuringError: a policy can't run at all.
    """
    begun = time.monotonic()

    def enough(comparison: Comparison) -> bool:
        further = _further(comparison, plan)
        if not further or decided(comparison):
            return True
        spent = (time.monotonic() - begun) * (1 + further / _made(comparison))
        too_long = sure.seconds is not None and spent > sure.seconds
        why = f" would end after verdict.seconds={sure.seconds:g}" if too_long else ""
        display.say(f"{phase}: not decided yet; {further} more repeats{why}")
        return too_long

    return compare_shown(run_round, subjects, plan, seed, display, phase, enough)


def _made(comparison: Comparison) -> int:
    return max(len(row.repeats) for row in comparison.rows)


def _further(comparison: Comparison, plan: ComparisonPlan) -> int:
    """Return the number of repeats before the next check."""
    made = _made(comparison)
    return next((count for count in plan.analyses if count > made), made) - made
