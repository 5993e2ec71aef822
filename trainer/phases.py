"""The phases of a training: the time of each, and how to shorten it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from envs import THREADS, SweepPlan
from envs.external_sweep import settings
from trainer.champion import stages
from trainer.config import (
    ChampionConfig,
    RunConfig,
    TrainConfig,
    TrainedObjectiveConfig,
    TuningConfig,
    ValidationConfig,
)
from trainer.evaluation.front import FRONT_MAX
from trainer.evaluation.horizon import lengths
from trainer.scenario import Scenario
from trainer.search.space import store_of

Comparing = TypeVar("Comparing", bound=RunConfig)


class Phase(StrEnum):
    """A phase of a training; the members are in order of execution."""

    SWEEP = "sweep"
    SEARCH = "search"
    CHOICE = "choice"
    COMPARISON = "comparison"
    VALIDATION = "validation"


SEEDS_IN_CHOICE = 5
"""Candidates of the choice in addition to the finalists: the best start and the seeds."""

SETTLING = 5
"""Tables that are measured to find the length of rungs: the seeds and other starts."""

SHORTEST = 0.25
"""The least share of its set length to which a run is shortened; less would be too noisy."""


@dataclass(frozen=True)
class Cost:
    """The cost of measurements on a machine.

    Attributes:
        per_second: seconds that pass for each second of a run, including its warm-up; less than 1
            if several runs are made at once, more if cores are simulated.
        loading: seconds to load the databases.
    """

    per_second: float
    loading: float


def sweep_seconds(tuning: TuningConfig) -> float:
    """Return the seconds of runs in a sweep of the backoff, including warm-ups."""
    plan = SweepPlan(
        tuning.slice_seconds,
        tuning.warmup_seconds,
        tuning.rounds,
        tuning.finalists,
        tuning.final_rounds,
        tuning.final_slices,
    )
    coarse = len(plan.levels_us) * plan.rounds
    final = plan.runs - coarse
    return coarse * (plan.seconds + plan.warmup) + final * (
        plan.final_slices * plan.seconds + plan.warmup
    )


def store_sweep_seconds(config: TrainConfig) -> float:
    """Return the seconds of runs in a sweep of an external store's settings, 0 without a store."""
    store, tuning = store_of(config.search), config.tuning
    if store is None:
        return 0.0
    tried = len(settings(store, config.machine.cores or len(os.sched_getaffinity(0))))
    finalists = min(tuning.finalists, tried) * tuning.final_rounds
    return tried * tuning.rounds * (tuning.slice_seconds + tuning.warmup_seconds) + finalists * (
        tuning.final_slices * tuning.slice_seconds + tuning.warmup_seconds
    )


def choice_seconds(champion: ChampionConfig, of_front: int = 0) -> float:
    """Return the seconds of runs in the choice of the champion, in each scenario.

    Args:
        champion: the choice.
        of_front: further candidates, those of a front.
    """
    each = champion.slice_seconds + champion.warmup_seconds
    candidates = champion.finalists + of_front + SEEDS_IN_CHOICE
    return champion.rounds * sum(stages(candidates)) * each


def comparison_seconds(run: RunConfig, policies: int) -> float:
    """Return the seconds of runs in a comparison of a number of policies."""
    return run.repeats * policies * (run.seconds + run.warmup)


def phase_seconds(
    config: TrainConfig, scenarios: Sequence[Scenario], phase: Phase, cost: Cost
) -> float | None:
    """Return the seconds of a phase with these settings; None for a search without such a bound.

    Args:
        config: all settings.
        scenarios: the scenarios of the training.
        phase: the phase.
        cost: on the machine of the training; on real cores a second of a run takes a second.
    """
    policies = len(config.baselines) + 1
    of_front = FRONT_MAX if config.objective.front else 0
    match phase:
        case Phase.SWEEP:
            tuning = store_sweep_seconds(config) or sweep_seconds(config.tuning)
            runs = tuning + _settling_seconds(config)
            return len(scenarios) * runs * cost.per_second
        case Phase.SEARCH:
            return config.search.seconds
        case Phase.CHOICE:
            runs = choice_seconds(config.champion, of_front)
            return len(scenarios) * runs * cost.per_second
        case Phase.COMPARISON:
            runs = len(scenarios) * comparison_seconds(config.run, policies)
            if of_front:
                # On virtual cores the runs of the comparison are taken over.
                again = policies if config.machine.kind == THREADS["kind"] else 0
                runs += comparison_seconds(config.run, of_front + again)
            return runs * cost.per_second
        case Phase.VALIDATION:
            if not is_validated(config):
                return 0.0
            much = config.validation
            runs = sweep_seconds(much.tuning) + comparison_seconds(much, policies)
            return workload_count(scenarios) * (runs + cost.loading)


def workload_count(scenarios: Sequence[Scenario]) -> int:
    """Return the number of workloads: scenarios that differ only in virtual cores share one."""
    return len({str(sorted(scenario.workload.items())) for scenario in scenarios})


def most_seconds(
    config: TrainConfig, scenarios: Sequence[Scenario], phase: Phase, seconds: float
) -> float:
    """Return the seconds of a phase if its comparisons need all repeats.

    Args:
        config: all settings.
        scenarios: the scenarios of the training.
        phase: the phase; one without comparisons takes `seconds`.
        seconds: of the phase with the set number of repeats.
    """
    comparisons = {Phase.COMPARISON: len(scenarios), Phase.VALIDATION: workload_count(scenarios)}
    much = config.validation if phase is Phase.VALIDATION else config.run
    sure = config.verdict
    if phase not in comparisons or seconds == 0 or much.repeats < 2 or sure.repeats_max is None:
        return seconds
    most = seconds * max(1.0, sure.repeats_max / much.repeats)
    if sure.seconds is None:
        return most
    return min(most, max(seconds, sure.seconds * comparisons[phase]))


def is_validated(config: TrainConfig) -> bool:
    """Return whether a comparison on real cores follows."""
    return config.validation.enabled and config.machine.kind != THREADS["kind"]


def shorter_sweep(tuning: TuningConfig, share: float) -> TuningConfig:
    """Return a sweep of about this share of the runs, but no fewer than the minimum."""
    if share >= 1:
        return tuning
    fewer = replace(
        tuning,
        rounds=_fewer(tuning.rounds, share, 1),
        final_rounds=_fewer(tuning.final_rounds, share, 2),
        finalists=min(tuning.finalists, 3),
    )
    rest = share * sweep_seconds(tuning) / sweep_seconds(fewer)
    return replace(fewer, slice_seconds=fewer.slice_seconds * min(1.0, max(SHORTEST, rest)))


def shorter_choice(champion: ChampionConfig, share: float) -> ChampionConfig:
    """Return a choice of about this share of the runs, but no fewer than the minimum."""
    if share >= 1:
        return champion
    fewer = replace(
        champion,
        rounds=_fewer(champion.rounds, share, 3),
        finalists=min(champion.finalists, 4),
    )
    rest = share * choice_seconds(champion) / choice_seconds(fewer)
    return replace(fewer, slice_seconds=fewer.slice_seconds * min(1.0, max(SHORTEST, rest)))


def shorter_comparison(run: Comparing, share: float, shortest: float = SHORTEST) -> Comparing:
    """Return a comparison of about this share of the runs, with at least three repeats.

    Args:
        run: the comparison.
        share: of its time.
        shortest: the least share of the length of a run.
    """
    if share >= 1:
        return run
    repeats = _fewer(run.repeats, share, 3)
    rest = share * run.repeats / repeats
    return replace(run, repeats=repeats, seconds=run.seconds * min(1.0, max(shortest, rest)))


def shorter_validation(validation: ValidationConfig, share: float) -> ValidationConfig:
    """Return a validation whose sweep and comparison are shortened to this share."""
    if share >= 1:
        return validation
    shorter = shorter_comparison(validation, share)
    return replace(shorter, tuning=shorter_sweep(validation.tuning, share))


def shortened(config: TrainConfig, phase: Phase, share: float) -> TrainConfig:
    """Return the settings with a phase of about this share of its runs; a search is unchanged."""
    match phase:
        case Phase.SWEEP:
            return replace(config, tuning=shorter_sweep(config.tuning, share))
        case Phase.CHOICE:
            return replace(config, champion=shorter_choice(config.champion, share))
        case Phase.COMPARISON:
            # A percentile needs the length that the user has set.
            shortest = SHORTEST if config.objective == TrainedObjectiveConfig() else 1.0
            return replace(config, run=shorter_comparison(config.run, share, shortest))
        case Phase.VALIDATION:
            return replace(config, validation=shorter_validation(config.validation, share))
        case Phase.SEARCH:
            return config


def _settling_seconds(config: TrainConfig) -> float:
    """Return the seconds of the runs that find the length of rungs, 0 if there are none."""
    race = config.evaluation
    if race.settled is None:
        return 0.0
    tried = [
        slices * race.slice_seconds for slices in lengths(race.slice_seconds, config.run.seconds)
    ]
    runs = (config.run.seconds, *tried)
    return SETTLING * sum(seconds + race.warmup_seconds for seconds in runs)


def _fewer(count: int, share: float, least: int) -> int:
    """Return this share of a count, but at least the minimum and at most the count."""
    return min(count, max(least, int(count * share)))
