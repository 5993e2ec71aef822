"""What `heddle evaluate` compares by: the objective, with limits from the measured baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from envs import (
    Comparison,
    MeasuringError,
    Result,
    Row,
    RunRound,
    Subject,
    finished,
    policy_names,
)
from envs.objective import Objective
from policies import Signature, is_seed
from trainer.command.errors import UsageError
from trainer.config import ObjectiveConfig, RunConfig
from trainer.objective import (
    BEYOND_LEAST,
    bounds_of,
    check_objective,
    commits_needed,
    objective_of,
)


def is_learned(name: str) -> bool:
    """Return whether a name is that of a table other than the known algorithms."""
    plain = name.partition("+")[0]
    return plain not in policy_names() and not is_seed(plain)


def unlimited(config: ObjectiveConfig, signature: Signature, names: Sequence[str]) -> Objective:
    """Check the settings and return the objective without its limits.

    Args:
        config: the settings.
        signature: of the workload.
        names: of the policies to compare; those that are not learned are the baselines.

    Raises:
        UsageError: a setting is wrong.
    """
    baselines = [name for name in names if not is_learned(name)]
    try:
        check_objective(config, signature, baselines, "policy")
    except ValueError as error:
        raise UsageError(str(error)) from None
    return objective_of(replace(config, limits={}), signature, {})


def limited(config: ObjectiveConfig, signature: Signature, found: Comparison) -> Comparison:
    """Return a comparison with the limits of its objective.

    Limits that refer to a baseline refer to its median repeat in this comparison.

    Raises:
        MeasuringError: a baseline has no such figure.
    """
    if not config.limits or not found.rows:
        return found
    baselines = {
        row.subject.name: _median_repeat(row)
        for row in found.rows
        if not is_learned(row.subject.name)
    }
    try:
        return replace(found, objective=objective_of(config, signature, baselines))
    except ValueError as error:
        raise MeasuringError(str(error)) from None


def refuse_too_short(
    config: ObjectiveConfig,
    objective: Objective,
    baseline: Subject,
    run_round: RunRound,
    run: RunConfig,
    signature: Signature,
) -> None:
    """Refuse a percentile that runs of this length can't decide, before the comparison.

    Args:
        config: the settings, for the percentiles of limits.
        objective: what policies are compared by.
        baseline: the policy that shows the pace: it runs once, if there is a percentile.
        run_round: measures.
        run: length of the runs.
        signature: of the workload.

    Raises:
        UsageError: the runs are too short; the message names the length that is needed.
        MeasuringError: the policy can't run.
    """
    bounds = objective_of(replace(config, limits=_absolute(config, signature)), signature, {})
    needed = commits_needed(replace(objective, limits=bounds.limits), signature, BEYOND_LEAST)
    if not needed:
        return
    (outcome,) = (of for _, of in run_round([baseline], run.seconds, warmup=run.warmup, seed=0))
    types = finished(outcome).types
    for name, commits in needed.items():
        made = types[name].commits
        if made < commits:
            longer = f"{run.seconds * commits / made:.1g}" if made else "a longer time"
            raise UsageError(
                f"run.seconds={run.seconds:g} is too short for a percentile of {name}: "
                f"{baseline.name} commits {made:,} of them, and {commits:,.0f} are needed; set "
                f"run.seconds={longer} or more"
            )


def _absolute(config: ObjectiveConfig, signature: Signature) -> dict[str, float]:
    """Return the limits as numbers: which percentiles they bound does not depend on the values."""
    return {
        bound.metric if bound.type_name is None else f"{bound.type_name}.{bound.metric}": 1.0
        for bound in bounds_of(config, signature)
    }


def _median_repeat(row: Row) -> Result:
    ordered = sorted(row.repeats, key=lambda result: result.fitness)
    return ordered[len(ordered) // 2]
