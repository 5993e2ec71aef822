"""Checks the ranges of settings.

The engine declares the ranges of a machine and its costs; the others are declared here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from envs.option_specs import OptionSpec, engine_specs, shown_number
from traces.statistics.windows import WINDOWS_MINUTES
from trainer.command.errors import UsageError
from trainer.config import MachineConfig, VirtualConfig

AT_LEAST_ONE = {
    "search.generations",
    "search.evaluations",
    "evaluation.reference_every",
    "evaluation.grown_mib_max",
    "tuning.rounds",
    "tuning.finalists",
    "tuning.final_rounds",
    "tuning.final_slices",
    "champion.finalists",
    "champion.rounds",
    "run.repeats",
    "verdict.repeats_max",
    "rounds",
    "points",
    "intervals",
    "virtual_rounds",
    "events",
    "k",
    "trials",
    "jobs",
    "clusters",
    "neighbours",
    "transactions",
    "threads.repeats",
    "threads.tuning.rounds",
    "threads.tuning.finalists",
    "threads.tuning.final_rounds",
    "threads.tuning.final_slices",
    "validation.repeats",
    "validation.tuning.rounds",
    "validation.tuning.finalists",
    "validation.tuning.final_rounds",
    "validation.tuning.final_slices",
    "keep_policies",
    "grown_mib_max",
    "sessions",
    "mib_max",
    "timeline.lanes",
    "variance.events",
    "held_out.minutes",
    "held_out.blocks",
    "held_out.resamples",
}
ABOVE_ZERO = {
    "search.seconds",
    "evaluation.slice_seconds",
    "tuning.slice_seconds",
    "champion.slice_seconds",
    "check.seconds",
    "run.seconds",
    "verdict.confidence",
    "verdict.seconds",
    "seconds",
    "virtual_seconds",
    "poll_seconds",
    "report_seconds",
    "until_us",
    "budget",
    "validation.seconds",
    "share",
    "threads.seconds",
    "threads.tuning.slice_seconds",
    "timeline.seconds",
    "variance.seconds",
    "validation.tuning.slice_seconds",
    "held_out.confidence",
    "validation",
}
AT_MOST: dict[str, float] = {
    "jobs": 1024,
    "trials": 1_000_000_000_000,
    "share": 1,
    "events": 2_000_000,
    "k": 1_000,
    "d": 1,
    "draw_share": 1,
    "intervals": 10_000,
    "timeline.lanes": 48,
    "timeline.seconds": 0.01,
    "timeline.warmup": 1,
    "variance.events": 2_000_000,
    "variance.warmup": 1,
    # Inputs are numbered by multiples of the seed, which must fit into 64 bits.
    "seed": 1_000_000_000_000,
    "variance.seed": 1_000_000_000_000,
    "timeline.seed": 1_000_000_000_000,
    "random": 10_000,
    "mutated": 10_000,
    "keep_policies": 10_000,
    "retrain_after": 10_000,
    "held_out.minutes": 59,
    "held_out.blocks": 59,
    "held_out.resamples": 100_000,
    "held_out.confidence": 0.9999,
    "verdict.confidence": 0.9999,
    "verdict.equal_within": 0.5,
    "threshold": 1_000_000,
    "hot": 1,
    "neighbours": 16,
    "validation": 0.4,
    "transactions": 100_000_000,
}
ONE_OF = {
    "conflict.window_minutes": WINDOWS_MINUTES,
}
COUNT_MAX = 1_000_000
"""The maximum of a setting in `AT_LEAST_ONE` that has none in `AT_MOST`."""
SECONDS_MAX = 1_000_000
"""The maximum of a duration, eleven days: the engine counts nanoseconds in 64 bits."""
SECONDS_MIN = 1e-6
"""The minimum of a measured duration: nothing commits in less."""
REAL_CORES = ("validation.cores", "threads.cores")
"""Numbers of real cores, with the range of `machine=threads`."""
DURATIONS = ("seconds", "warmup")
"""Endings of the names of durations."""
NOT_NEGATIVE = {
    "seed",
    "evaluation.warmup_seconds",
    "evaluation.later_warmup_seconds",
    "tuning.warmup_seconds",
    "champion.warmup_seconds",
    "validation.tuning.warmup_seconds",
    "threads.tuning.warmup_seconds",
    "run.warmup",
    "verdict.equal_within",
    "validation.warmup",
    "threads.warmup",
    "timeline.warmup",
    "timeline.seed",
    "variance.warmup",
    "variance.seed",
    "warmup",
    "virtual_warmup",
    "from_us",
    "random",
    "mutated",
    "threshold",
    "hot",
    "retrain_after",
    "d",
    "draw_share",
}


def check_ranges(settings: Any, prefix: str = "") -> None:
    """Refuse settings that are out of range.

    Raises:
        UsageError: a setting is out of range; the message names it and its range.
    """
    for field in fields(settings):
        key, value = f"{prefix}{field.name}", getattr(settings, field.name)
        if isinstance(value, MachineConfig):
            _check_machine(value)
        elif is_dataclass(value):
            check_ranges(value, f"{key}.")
        elif value is None:
            continue
        elif key in REAL_CORES:
            (cores,) = engine_specs("machine", "threads")
            check_option(key, value, cores)
        elif isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{key}={value}: must be a number")
        elif key in ONE_OF and value not in ONE_OF[key]:
            raise UsageError(f"{key}={value}: must be one of {', '.join(map(str, ONE_OF[key]))}")
        elif isinstance(value, str) and not value.strip():
            raise UsageError(f"{key}=: must not be empty")
        elif isinstance(value, str):
            continue  # such as `budget=5min`, which is a number of seconds in another command
        elif key in AT_LEAST_ONE and value < 1:
            raise UsageError(f"{key}={value}: must be at least 1")
        elif (most := _most(key)) is not None and value > most:
            raise UsageError(f"{key}={_short(value)}: must be at most {most}")
        elif key in ABOVE_ZERO and value <= 0:
            raise UsageError(f"{key}={value}: must be above 0")
        elif key in ABOVE_ZERO and value < SECONDS_MIN:
            raise UsageError(f"{key}={value}: must be at least {SECONDS_MIN:g}")
        elif key in NOT_NEGATIVE and value < 0:
            raise UsageError(f"{key}={value}: must not be negative")


def check_option(key: str, value: Any, spec: OptionSpec) -> None:
    """Refuse a value that the engine's declaration does not allow.

    Args:
        key: the setting, for the message.
        value: its value.
        spec: the declaration.

    Raises:
        UsageError: it is not allowed; the message says what is.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{key}={value}: must be a number")
    if spec.kind == "choice" and value not in spec.choices:
        raise UsageError(f"{key}={value}: must be one of {spec.allowed}")
    if spec.least is None or spec.most is None:
        return
    if value < spec.least:
        least = shown_number(spec.least)
        need = "must not be negative" if spec.least == 0 else f"must be at least {least}"
        raise UsageError(f"{key}={_short(value)}: {need}")
    if value > spec.most:
        raise UsageError(f"{key}={_short(value)}: must be at most {shown_number(spec.most)}")


def _check_machine(machine: MachineConfig) -> None:
    _check_declared(machine, "machine.", engine_specs("machine", machine.kind))
    if isinstance(machine, VirtualConfig):
        _check_declared(machine.costs, "machine.costs.", engine_specs("machine/costs"))


def _check_declared(settings: Any, prefix: str, specs: Iterable[OptionSpec]) -> None:
    for spec in specs:
        value = getattr(settings, spec.name)
        if value is not None:
            check_option(f"{prefix}{spec.name}", value, spec)


def _most(key: str) -> float | None:
    """Return the largest value of a setting; None if it has no bound."""
    if key in AT_MOST:
        return AT_MOST[key]
    if key in AT_LEAST_ONE:
        return COUNT_MAX
    return SECONDS_MAX if key.endswith(DURATIONS) else None


def _short(value: float) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
