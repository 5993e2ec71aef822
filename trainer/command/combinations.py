"""Settings with several values (`workload.warehouses=1,4`), one place for each combination."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from trainer.command.errors import UsageError
from trainer.command.settings import parse_overrides, swept_by_config
from trainer.command.typed_values import unquoted

SWEPT = ("workload", "machine", "schedule", "case")
"""The groups whose settings may have several values."""

COMBINATIONS_MAX = 1000


@dataclass(frozen=True)
class Combination:
    """One value of each setting.

    Attributes:
        overrides: all overrides, each with one value.
        label: the values of the settings with several, for people; empty if there are none.
    """

    overrides: list[str]
    label: str


def combinations(overrides: Sequence[str]) -> list[Combination]:
    """Return every combination of values; the last setting changes fastest (as `train -m`).

    Args:
        overrides: `key=value` or `key=value,value`.

    Raises:
        UsageError: a setting has several values but takes one, or there are too many combinations.
    """
    parsed = parse_overrides(overrides)
    values = [_values(override) for override in parsed]
    if math.prod(map(len, values)) > COMBINATIONS_MAX:
        raise UsageError(
            f"the settings have over {COMBINATIONS_MAX} combinations of values; leave some out"
        )
    found: dict[str, Combination] = {}
    for chosen in itertools.product(*values):
        typed = [
            f"{override.key_or_group}={value}"
            if override.is_sweep_override()
            else str(override.input_line)
            for override, value in zip(parsed, chosen, strict=True)
        ]
        words = [
            _words(override, value)
            for override, value in zip(parsed, chosen, strict=True)
            if override.is_sweep_override()
        ]
        found.setdefault(", ".join(words), Combination(typed, ", ".join(words)))
    return list(found.values())


def with_swept(name: str, overrides: Sequence[str]) -> list[str]:
    """Return the overrides, preceded by what their `experiment=` sweeps unless they set it.

    Args:
        name: of the primary configuration.
        overrides: the overrides, `key=value`.

    Raises:
        UsageError: an override is wrong.
    """
    typed = [override.key_or_group for override in parse_overrides(overrides)]
    if "experiment" not in typed:
        return list(overrides)
    swept = swept_by_config(name, combinations(overrides)[0].overrides)
    return [*(f"{key}={value}" for key, value in swept.items() if key not in typed), *overrides]


def _values(override: Override) -> list[str]:
    if not override.is_sweep_override():
        return [""]
    group = override.key_or_group.replace("/", ".").split(".")[0]
    if group not in SWEPT:
        raise UsageError(
            f"{override.input_line}: takes one value; only settings of workload, machine, schedule "
            "and case may have several"
        )
    try:
        # A range may be very long: list only as many values as are allowed, and one more.
        values = list(itertools.islice(override.sweep_string_iterator(), COMBINATIONS_MAX + 1))
    except (HydraException, ValueError):  # such as a range whose step is 0
        values = []
    if not values:
        raise UsageError(
            f"{override.input_line}: write the values with commas, such as "
            f"{override.key_or_group}=1,4"
        )
    return values


def _words(override: Override, value: str) -> str:
    """Return `warehouses 4` for a setting, and only the name for a workload or a machine."""
    key, value = override.key_or_group, unquoted(value)
    return value if key in SWEPT else f"{key.replace('/', '.').rpartition('.')[2]} {value}"
