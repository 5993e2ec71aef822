"""The phases of a training, how long each runs policies, and how each is made shorter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from envs import THREADS, SweepPlan
from trainer.champion import stages
from trainer.config import ChampionConfig, RunConfig, TrainConfig, TuningConfig, ValidationConfig
from trainer.evaluation.horizon import lengths
from trainer.scenario import Scenario

Comparing = TypeVar("Comparing", bound=RunConfig)


class Phase(StrEnum):
    """A part of a training, in the order in which they are made."""

    SWEEP = "sweep"
    SEARCH = "search"
    CHOICE = "choice"
    COMPARISON = "comparison"
    VALIDATION = "validation"


SEEDS_IN_CHOICE = 5
"""The best start and the seeds, which are chosen from besides the finalists."""

SETTLING = 5
"""Tables by which it is found how long rungs must be: the seeds and those beside them."""

SHORTEST = 0.25
"""A run is never made shorter than this share of what is set: it would say too little."""


@dataclass(frozen=True)
class Cost:
    """What measuring costs on a machine.

    Attributes:
        per_second: seconds that pass for each second of a run, its warm-up included; less than 1
            where several runs are made at once, more where cores are simulated.
        loading: seconds until the databases are loaded.
    """

    per_second: float
    loading: float


def sweep_seconds(tuning: TuningConfig) -> float:
    """Seconds of runs in a sweep of the backoff, warm-ups included."""
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


def choice_seconds(champion: ChampionConfig) -> float:
    """Seconds of runs in the choice of the champion, in each scenario."""
    each = champion.slice_seconds + champion.warmup_seconds
    return champion.rounds * sum(stages(champion.finalists + SEEDS_IN_CHOICE)) * each


def comparison_seconds(run: RunConfig, policies: int) -> float:
    """Seconds of runs in a comparison of a number of policies."""
    return run.repeats * policies * (run.seconds + run.warmup)


def phase_seconds(
    config: TrainConfig, scenarios: Sequence[Scenario], phase: Phase, cost: Cost
) -> float | None:
    """How long a phase takes as it is set; None for a search without a bound in seconds.

    Args:
        config: all settings.
        scenarios: what is trained for.
        phase: which.
        cost: on the machine of the training; that of real cores is one second for each second.
    """
    policies = len(config.baselines) + 1
    match phase:
        case Phase.SWEEP:
            runs = sweep_seconds(config.tuning) + _settling_seconds(config)
            return len(scenarios) * runs * cost.per_second
        case Phase.SEARCH:
            return config.search.seconds
        case Phase.CHOICE:
            return len(scenarios) * choice_seconds(config.champion) * cost.per_second
        case Phase.COMPARISON:
            return len(scenarios) * comparison_seconds(config.run, policies) * cost.per_second
        case Phase.VALIDATION:
            if not is_validated(config):
                return 0.0
            much = config.validation
            runs = sweep_seconds(much.tuning) + comparison_seconds(much, policies)
            return workload_count(scenarios) * (runs + cost.loading)


def workload_count(scenarios: Sequence[Scenario]) -> int:
    """How many workloads the scenarios have: those that differ in virtual cores share one."""
    return len({str(sorted(scenario.workload.items())) for scenario in scenarios})


def most_seconds(
    config: TrainConfig, scenarios: Sequence[Scenario], phase: Phase, seconds: float
) -> float:
    """How long a comparison takes whose repeats continue until it is decided, at the most.

    Args:
        config: all settings.
        scenarios: what is trained for.
        phase: which; of any but a comparison it is what it takes.
        seconds: that it takes with as many repeats as are asked for.
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
    """Whether a comparison on real cores follows."""
    return config.validation.enabled and config.machine.kind != THREADS["kind"]


def shorter_sweep(tuning: TuningConfig, share: float) -> TuningConfig:
    """A sweep of at most about this share of the runs; of the least number where that is more."""
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
    """A choice of at most about this share of the runs; of the least number where that is more."""
    if share >= 1:
        return champion
    fewer = replace(
        champion,
        rounds=_fewer(champion.rounds, share, 3),
        finalists=min(champion.finalists, 4),
    )
    rest = share * choice_seconds(champion) / choice_seconds(fewer)
    return replace(fewer, slice_seconds=fewer.slice_seconds * min(1.0, max(SHORTEST, rest)))


def shorter_comparison(run: Comparing, share: float) -> Comparing:
    """A comparison of at most about this share of the runs, with three repeats at the least."""
    if share >= 1:
        return run
    repeats = _fewer(run.repeats, share, 3)
    rest = share * run.repeats / repeats
    return replace(run, repeats=repeats, seconds=run.seconds * min(1.0, max(SHORTEST, rest)))


def shorter_validation(validation: ValidationConfig, share: float) -> ValidationConfig:
    """The same of the sweep and the comparison on real cores."""
    if share >= 1:
        return validation
    shorter = shorter_comparison(validation, share)
    return replace(shorter, tuning=shorter_sweep(validation.tuning, share))


def shortened(config: TrainConfig, phase: Phase, share: float) -> TrainConfig:
    """The settings with a phase of at most about this share of its runs; a search as it is."""
    match phase:
        case Phase.SWEEP:
            return replace(config, tuning=shorter_sweep(config.tuning, share))
        case Phase.CHOICE:
            return replace(config, champion=shorter_choice(config.champion, share))
        case Phase.COMPARISON:
            return replace(config, run=shorter_comparison(config.run, share))
        case Phase.VALIDATION:
            return replace(config, validation=shorter_validation(config.validation, share))
        case Phase.SEARCH:
            return config


def _settling_seconds(config: TrainConfig) -> float:
    """Of the runs that find how long rungs must be, if any are made."""
    race = config.evaluation
    if race.settled is None:
        return 0.0
    tried = [
        slices * race.slice_seconds for slices in lengths(race.slice_seconds, config.run.seconds)
    ]
    return SETTLING * sum(one + race.warmup_seconds for one in (config.run.seconds, *tried))


def _fewer(count: int, share: float, least: int) -> int:
    """As many as the share leaves, within a minimum and what there were."""
    return min(count, max(least, int(count * share)))
