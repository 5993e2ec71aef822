"""What `heddle evaluate` compares by: the objective, with limits from the measured baselines."""

from __future__ import annotations

import math
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
from envs.bounds import BOUNDS
from envs.objective import Objective
from policies import Signature, is_seed
from trainer.command.errors import UsageError
from trainer.config import ObjectiveConfig, RunConfig
from trainer.measured_objective import settled_warmup
from trainer.objective import (
    BEYOND_LEAST,
    check_objective,
    commits_needed,
    latency_types,
    objective_of,
    unmeasured,
)


def is_learned(name: str) -> bool:
    """Return whether a name is that of a table other than the known algorithms."""
    plain = name.partition("+")[0]
    return plain not in {*policy_names(), *BOUNDS} and not is_seed(plain)


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
    baseline: Subject,
    run_round: RunRound,
    run: RunConfig,
    signature: Signature,
) -> None:
    """Refuse latencies that runs of this length can't decide, before the comparison.

    Args:
        config: the settings.
        baseline: the policy that shows the pace: it runs once, if latencies are judged.
        run_round: measures.
        run: length of the runs.
        signature: of the workload.

    Raises:
        UsageError: the runs are too short; the message names the length that is needed.
        MeasuringError: the policy can't run.
    """
    objective = unmeasured(config, signature)
    judged = latency_types(objective, signature)
    if not judged:
        return
    needed = commits_needed(objective, signature, BEYOND_LEAST)
    (outcome,) = (of for _, of in run_round([baseline], run.seconds, warmup=run.warmup, seed=0))
    found = finished(outcome)
    types = found.types
    pace = {name: kind.throughput for name, kind in types.items()}
    settled = settled_warmup(judged, pace, found.machine.cores)
    if settled > run.warmup:
        raise UsageError(
            f"run.warmup={run.warmup:g} is too short for latencies: workers' backoff still adapts "
            f"to the rarest type; set run.warmup={math.ceil(settled * 100) / 100:g} or more"
        )
    for name, commits in needed.items():
        made = types[name].commits
        if made < commits:
            longer = f"{run.seconds * commits / made:.1g}" if made else "a longer time"
            raise UsageError(
                f"run.seconds={run.seconds:g} is too short for a percentile of {name}: "
                f"{baseline.name} commits {made:,} of them, and {commits:,.0f} are needed; set "
                f"run.seconds={longer} or more"
            )


def _median_repeat(row: Row) -> Result:
    ordered = sorted(row.repeats, key=lambda result: result.fitness)
    return ordered[len(ordered) // 2]
