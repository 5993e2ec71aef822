"""The objective of a training or a comparison, from its settings.

Limits may be relative to a baseline, whose figures differ by workload and machine. So the settings
become one `envs.objective.Objective` per scenario, after the baselines have been measured there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from envs.metrics import METRICS, metric_named
from envs.objective import BALANCED, Limit, Objective
from envs.result import Result
from envs.type_result import POWERS
from policies import Signature
from trainer.config import ObjectiveConfig, TrainedObjectiveConfig

NAMES: Mapping[str, str] = {
    "throughput": "throughput",
    "mean_latency": "mean",
    "p50": "p50",
    "p90": "p90",
    "p99": "p99",
    "p999": "p999",
    "max": "max",
    "lp": "lp",
    "cv": "cv",
}
"""The metric of each objective; the names are those that `objective=` accepts."""

EVERY = "*"
"""The type in a limit that holds for every type, unless the type has its own."""

BEST = "best"
"""The baseline in a relative limit that has the most throughput."""

BEYOND_LEAST = 3
"""Transactions beyond a percentile that a comparison's run must have, on average."""

_RELATIVE = re.compile(
    r"(?:(?P<factor>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*[x×*]\s*)?(?P<name>[A-Za-z_]\S*)"
)
_DURATION = re.compile(r"(?P<number>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?P<unit>us|µs|ms|s)")
_MICROSECONDS = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True)
class Bound:
    """A limit as it was set.

    Attributes:
        metric: name of the metric.
        type_name: the type, `EVERY`, or None for the whole workload.
        value: the limit, or the factor on the baseline's figure.
        baseline: the baseline, `BEST`, or None for an absolute limit.
    """

    metric: str
    type_name: str | None
    value: float
    baseline: str | None = None


def check_objective(
    config: ObjectiveConfig,
    signature: Signature,
    baselines: Sequence[str],
    setting: str = "baselines",
) -> None:
    """Check the settings of an objective.

    Args:
        config: the settings.
        signature: of the workload.
        baselines: the policies that relative limits may name.
        setting: the setting that names them.

    Raises:
        ValueError: a setting is wrong; the message names it and what would be right.
    """
    if config.name not in NAMES:
        raise ValueError(
            f"objective={config.name}: no such objective; there are {', '.join(NAMES)}"
        )
    if config.name == "lp" and config.p not in POWERS:
        raise ValueError(f"objective.p={config.p}: must be one of {', '.join(map(str, POWERS))}")
    if isinstance(config, TrainedObjectiveConfig):
        if not 0.0 <= config.margin < 1.0:
            raise ValueError(f"objective.margin={config.margin}: must be at least 0 and below 1")
        _check_front(config)
    for name in config.types:
        _refuse_unknown_type("objective.types", name, signature)
    for bound in bounds_of(config, signature):
        known = [BEST, *baselines]
        if bound.baseline is not None and bound.baseline not in known:
            raise ValueError(
                f"objective.limits: {bound.baseline} is no baseline here; there are "
                f"{', '.join(known)} ({setting}= adds others)"
            )
        if bound.baseline is not None and not baselines:
            raise ValueError(
                f"objective.limits: a relative limit needs a baseline; name one with {setting}="
            )


def front_of(config: TrainedObjectiveConfig) -> tuple[str, ...]:
    """Return the metrics of the front.

    Raises:
        ValueError: there is no such metric; the message lists all.
    """
    return tuple(metric_named(name).name for name in config.front)


def settles_races(objective: Objective) -> bool:
    """Return whether runs of the search warm up until latencies have settled.

    They need not for a front without limits. It is measured again, settled, and in the same time
    the search finds more policies that no other dominates.
    """
    return not objective.front or bool(objective.limits)


def _check_front(config: TrainedObjectiveConfig) -> None:
    setting = f"objective.front=[{','.join(config.front)}]"
    try:
        front = front_of(config)
    except ValueError as error:
        raise ValueError(f"{setting}: {error}") from None
    if not front and config.prefer != BALANCED:
        raise ValueError(f"objective.prefer={config.prefer}: needs objective.front")
    if not front:
        return
    if len(front) < 2 or len(set(front)) < len(front):
        raise ValueError(f"{setting}: needs two or more different metrics")
    if config.name != "throughput" or config.types:
        raise ValueError(
            f"{setting}: leave out objective= and objective.types; objective.prefer chooses among "
            "the front"
        )
    if config.prefer.removesuffix("_us") not in (BALANCED, *front):
        raise ValueError(
            f"objective.prefer={config.prefer}: must be {BALANCED} or a metric of objective.front: "
            f"{', '.join(front)}"
        )


def bounds_of(config: ObjectiveConfig, signature: Signature) -> list[Bound]:
    """Return the limits as set.

    Raises:
        ValueError: a limit is wrong; the message names it and what would be right.
    """
    return [_bound(str(key), value, signature) for key, value in config.limits.items()]


def is_relative(config: ObjectiveConfig, signature: Signature) -> bool:
    """Return whether a limit depends on a baseline."""
    return any(bound.baseline is not None for bound in bounds_of(config, signature))


def objective_of(
    config: ObjectiveConfig, signature: Signature, baselines: Mapping[str, Result]
) -> Objective:
    """Return the objective in one scenario.

    Args:
        config: the settings.
        signature: of the workload.
        baselines: the measured baselines, by name; needed for relative limits.

    Raises:
        ValueError: a baseline has no such figure.
    """
    metric = NAMES[config.name] if config.name != "lp" else f"l{config.p}"
    front: tuple[str, ...] = ()
    if isinstance(config, TrainedObjectiveConfig) and (front := front_of(config)):
        metric = BALANCED if config.prefer == BALANCED else metric_named(config.prefer).name
    bounds = bounds_of(config, signature)
    own = {(bound.metric, bound.type_name) for bound in bounds}
    limits = []
    for bound in bounds:
        if bound.type_name == EVERY:
            others = (name for name in signature.type_names if (bound.metric, name) not in own)
            names: list[str | None] = [*others]
        else:
            names = [bound.type_name]
        limits += [_limit(bound, name, baselines) for name in names]
    return Objective(metric, tuple(config.types), tuple(limits), front)


def unmeasured(config: ObjectiveConfig, signature: Signature) -> Objective:
    """Return the objective with limits of 1: which types they are about needs no measurement."""
    bounds = bounds_of(config, signature)
    named = {(f"{b.type_name}." if b.type_name else "") + b.metric: 1.0 for b in bounds}
    return objective_of(replace(config, limits=named), signature, {})


def with_margin(objective: Objective, margin: float) -> Objective:
    """Return the objective with limits that are stricter by a share."""
    limits = tuple(
        Limit(
            limit.metric,
            limit.type_name,
            limit.value / (1 - margin)
            if METRICS[limit.metric].higher_is_better
            else limit.value * (1 - margin),
        )
        for limit in objective.limits
    )
    return replace(objective, limits=limits)


def commits_needed(objective: Objective, signature: Signature, beyond: float) -> dict[str, float]:
    """Return how many commits of each type a run needs for the objective's percentiles.

    Args:
        objective: the objective.
        signature: of the workload.
        beyond: transactions that are to lie beyond each percentile, on average.

    Returns:
        By type, for the types with a percentile.
    """
    own = [] if objective.metric == BALANCED else [objective.metric]
    wanted = [(metric, name) for metric in own for name in objective.type_names or (None,)]
    wanted += [(metric, None) for metric in objective.front]
    wanted += [(limit.metric, limit.type_name) for limit in objective.limits]
    needed: dict[str, float] = {}
    for metric, type_name in wanted:
        quantile = METRICS[metric].quantile
        if quantile is None:
            continue
        for name in signature.type_names if type_name is None else [type_name]:
            needed[name] = max(needed.get(name, 0.0), beyond / (1 - quantile))
    return needed


def latency_types(objective: Objective, signature: Signature) -> list[str]:
    """Return the types whose latency the objective or a limit is about."""
    own = [] if objective.metric == BALANCED else [objective.metric]
    named = [(metric, name) for metric in own for name in objective.type_names or (None,)]
    named += [(metric, None) for metric in objective.front]
    named += [(limit.metric, limit.type_name) for limit in objective.limits]
    about = [name for metric, name in named if not METRICS[metric].higher_is_better]
    return [name for name in signature.type_names if name in about or None in about]


def _bound(key: str, value: Any, signature: Signature) -> Bound:
    setting = f"objective.limits: {key}"
    prefix, dot, name = key.rpartition(".")
    try:
        metric = metric_named(name)
    except ValueError as error:
        raise ValueError(f"{setting}: {error}") from None
    type_name = prefix if dot else None
    if type_name is not None and type_name != EVERY:
        _refuse_unknown_type(setting, type_name, signature)
    if type_name is not None and not metric.by_type:
        raise ValueError(f"{setting}: {metric.words} is of the whole workload; write {name}")
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{setting}: {value!r} is no limit; {_FORMS}")
    number, baseline = _parse(setting, value, metric.unit)
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"{setting}: a limit must be above 0, not {value}")
    return Bound(metric.name, type_name, number, baseline)


def _parse(setting: str, value: float | str, unit: str) -> tuple[float, str | None]:
    try:
        return float(value), None
    except ValueError:
        text = str(value).strip()
    try:
        if (duration := _DURATION.fullmatch(text)) and unit == "µs":
            return float(duration["number"]) * _MICROSECONDS[duration["unit"]], None
        if relative := _RELATIVE.fullmatch(text):
            return float(relative["factor"] or 1.0), relative["name"]
    except ValueError:
        pass
    raise ValueError(f"{setting}: {text!r} is no limit; {_FORMS}")


_FORMS = "write a number, a duration such as 2ms, or a multiple of a baseline such as 5x silo_tuned"


def _refuse_unknown_type(setting: str, name: str, signature: Signature) -> None:
    if name not in signature.type_names:
        raise ValueError(
            f"{setting}: the workload has no transaction type {name}; there are "
            f"{', '.join(signature.type_names)}"
        )


def _limit(bound: Bound, type_name: str | None, baselines: Mapping[str, Result]) -> Limit:
    if bound.baseline is None:
        return Limit(bound.metric, type_name, bound.value)
    name = bound.baseline
    if name == BEST:
        name = max(baselines, key=lambda known: baselines[known].fitness)
    figure = Limit(bound.metric, type_name, 1.0).measured(baselines[name])
    if figure is None or figure <= 0.0:
        of = f"{type_name}." if type_name else ""
        raise ValueError(
            f"objective.limits: {name} has no {of}{bound.metric}, because it commits nothing in "
            "run.seconds; set longer runs or an absolute limit"
        )
    return Limit(bound.metric, type_name, bound.value * figure)
