"""Ranges of the settings that types alone don't rule out."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

from trainer.command.errors import UsageError
from trainer.config import MachineConfig

AT_LEAST_ONE = {
    "machine.cores",
    "search.generations",
    "evaluation.reference_every",
    "evaluation.grown_mib_max",
    "tuning.rounds",
    "tuning.finalists",
    "tuning.final_rounds",
    "champion.finalists",
    "champion.rounds",
    "run.repeats",
    "rounds",
    "virtual_rounds",
    "events",
    "validation.cores",
    "validation.repeats",
    "validation.tuning.rounds",
    "validation.tuning.finalists",
    "validation.tuning.final_rounds",
}
ABOVE_ZERO = {
    "search.seconds",
    "evaluation.slice_seconds",
    "tuning.slice_seconds",
    "champion.slice_seconds",
    "run.seconds",
    "seconds",
    "virtual_seconds",
    "until_us",
    "validation.seconds",
    "validation.tuning.slice_seconds",
}
AT_MOST = {"machine.cores": 1024, "validation.cores": 1024, "events": 2_000_000}
VIRTUAL_CORES_MAX = 256
NOT_NEGATIVE = {
    "seed",
    "machine.seed",
    "machine.skew_ns",
    "evaluation.warmup_seconds",
    "run.warmup",
    "validation.warmup",
    "warmup",
    "virtual_warmup",
    "from_us",
    "random",
    "mutated",
}


def check_ranges(settings: Any, prefix: str = "") -> None:
    """Refuse settings that are out of their range.

    Raises:
        UsageError: one is; the message names it and says what it may be.
    """
    for field in fields(settings):
        key, value = f"{prefix}{field.name}", getattr(settings, field.name)
        if is_dataclass(value):
            check_ranges(value, f"{key}.")
        elif value is None:
            continue
        elif isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{key}={value}: must be a number")
        elif key in AT_LEAST_ONE and value < 1:
            raise UsageError(f"{key}={value}: must be at least 1")
        elif key in AT_MOST and value > AT_MOST[key]:
            raise UsageError(f"{key}={value}: must be at most {AT_MOST[key]}")
        elif key in ABOVE_ZERO and value <= 0:
            raise UsageError(f"{key}={value}: must be above 0")
        elif (key in NOT_NEGATIVE or prefix == "machine.costs.") and value < 0:
            raise UsageError(f"{key}={value}: must not be negative")


def check_cores(machine: MachineConfig) -> None:
    """Refuse more virtual cores than there can be.

    Raises:
        UsageError: there are more.
    """
    if machine.kind == "virtual" and (machine.cores or 0) > VIRTUAL_CORES_MAX:
        raise UsageError(
            f"machine.cores={machine.cores}: must be at most {VIRTUAL_CORES_MAX} on machine=virtual"
        )
