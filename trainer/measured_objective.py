"""The objective of each scenario, after the baselines that its limits refer to were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envs import (
    MeasuringError,
    Result,
    RunRound,
    Subject,
    finished,
    subject_of,
)
from envs.objective import Objective
from envs.reference import Reference
from policies import Signature
from trainer.config import TrainConfig, TrainedObjectiveConfig
from trainer.evaluation.measure import Counter
from trainer.evaluation.race import later_warmup
from trainer.objective import (
    BEYOND_LEAST,
    commits_needed,
    is_relative,
    latency_types,
    objective_of,
    settles_races,
    unmeasured,
    with_margin,
)
from trainer.progress import Display
from trainer.scenario import Scenario

RUNS = 4
"""Length of the run that gives the baselines' figures, in runs of the comparison."""

SETTLED = 20
"""Transactions of a type after which a worker's backoff for it has settled. It adapts with each
attempt, from the same start in every run."""


@dataclass(frozen=True)
class MeasuredObjective:
    """The objective of a scenario.

    Attributes:
        objective: the objective, with absolute limits.
        slices: the length of a rung that has enough transactions for its percentiles, in slices.
        warmup: the least warm-up of a run that judges it, in seconds.
    """

    objective: Objective
    slices: int = 1
    warmup: float = 0.0


def measure_objective(
    config: TrainConfig,
    signature: Signature,
    scenario: Scenario,
    run_round: RunRound,
    tuned: Reference,
    display: Display,
    setting: str = "run.seconds",
) -> MeasuredObjective:
    """Return the objective in a scenario. Measures only what its limits and percentiles need.

    Args:
        config: all settings.
        signature: of the workload.
        scenario: the scenario.
        run_round: measures in it.
        tuned: the reference in it.
        display: shows the limits and the length of rungs.
        setting: the name of the setting for the length of the comparison's runs.

    Raises:
        MeasuringError: a baseline can't run or lacks a figure, or a comparison's runs are too short
            for a percentile.
    """
    chosen = config.objective
    if chosen == TrainedObjectiveConfig():
        return MeasuredObjective(objective_of(chosen, signature, {}))
    reference = tuned.subject()
    found = _measured(config, scenario, run_round, [reference], display, config.run.warmup)
    pace = {name: kind.throughput for name, kind in found[reference.name].types.items()}
    cores = found[reference.name].machine.cores
    warmup = settled_warmup(latency_types(unmeasured(chosen, signature), signature), pace, cores)
    if warmup > later_warmup(config.evaluation):
        settles = settles_races(unmeasured(chosen, signature))
        where = "after the first rung, and in the" if settles else "in the choice and the"
        display.say(
            f"{scenario.prefix}warm-up {warmup * 1e3:.0f} ms {where} comparison: a worker then has "
            f"run {SETTLED} of each type, to which its backoff adapts"
        )
    if is_relative(chosen, signature):
        subjects = [reference] + [
            subject_of(name, signature, lambda: tuned)
            for name in config.baselines
            if name != reference.name
        ]
        longer = max(warmup, config.run.warmup)
        found = _measured(config, scenario, run_round, subjects, display, longer)
    named = {
        name: found[name] for name in found if name in config.baselines or name == reference.name
    }
    try:
        objective = objective_of(chosen, signature, named)
    except ValueError as error:
        raise MeasuringError(f"{scenario.prefix}{error}") from None
    for limit in objective.limits:
        display.say(f"{scenario.prefix}limit: {limit.text}")
    _refuse_too_short(config, scenario, objective, signature, (reference.name, pace), setting)
    needed = commits_needed(objective, signature, 1)
    seconds = max((needed[name] / pace[name] for name in needed), default=0.0)
    slices = max(1, math.ceil(seconds / config.evaluation.slice_seconds))
    if slices > 1:
        rarest = max(needed, key=lambda name: needed[name] / pace[name])
        rung = slices * config.evaluation.slice_seconds * 1e3
        display.say(
            f"{scenario.prefix}first rung {rung:g} ms: {reference.name} then commits "
            f"{needed[rarest]:g} {rarest} or more, for a percentile of their latency"
        )
    return MeasuredObjective(objective, slices, warmup)


def searched(config: TrainConfig, objective: Objective) -> Objective:
    """Return the objective of the search, whose limits are stricter by `objective.margin`."""
    return with_margin(objective, config.objective.margin)


def settled_warmup(types: Sequence[str], pace: Mapping[str, float], cores: int) -> float:
    """Return the seconds after which a worker has run `SETTLED` of each type.

    Args:
        types: the types whose latency is judged.
        pace: commits per second of each type.
        cores: workers.
    """
    paces = [pace[name] for name in types if pace[name] > 0.0]
    return SETTLED * cores / min(paces) if paces else 0.0


def _measured(
    config: TrainConfig,
    scenario: Scenario,
    run_round: RunRound,
    subjects: list[Subject],
    display: Display,
    warmup: float,
) -> dict[str, Result]:
    counter = Counter(display, f"{scenario.prefix}measure the baselines", len(subjects))
    results: dict[str, Result] = {}
    seconds = RUNS * config.run.seconds
    for index, outcome in run_round(subjects, seconds, warmup=warmup, seed=scenario.config.seed):
        results[subjects[index].name] = finished(outcome)
        counter.step()
    return results


def _refuse_too_short(
    config: TrainConfig,
    scenario: Scenario,
    objective: Objective,
    signature: Signature,
    measured: tuple[str, Mapping[str, float]],
    setting: str,
) -> None:
    """Refuse a percentile that a run of the comparison can't decide.

    Raises:
        MeasuringError: the runs are too short.
    """
    (reference, pace), seconds = measured, config.run.seconds
    for name, commits in commits_needed(objective, signature, BEYOND_LEAST).items():
        made = pace[name] * seconds
        if made < commits:
            enough = f"{commits / pace[name]:.1g}" if pace[name] else None
            cure = f"set {setting}={enough} or more" if enough else "leave this limit out"
            raise MeasuringError(
                f"{scenario.prefix}{setting}={seconds:g} is too short for a percentile of "
                f"{name}: {reference} commits {made:,.0f} of them, and {commits:,.0f} are needed; "
                f"{cure}"
            )
