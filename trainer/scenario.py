"""A scenario: one workload on one machine that a table is trained for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from trainer.config import TrainConfig, workload_options

GROUPS = ("workload", "machine", "case")
"""The groups of settings in which scenarios may differ."""

NAME_MAX = 60
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.]+")


@dataclass(frozen=True)
class Scenario:
    """A workload on a machine.

    Attributes:
        number: among the scenarios, from 1.
        label: its name in tables and pictures, such as `warehouses 4`; empty for the only one.
        config: all settings of the training; only workload and machine differ among scenarios.
    """

    number: int
    label: str
    config: TrainConfig

    @property
    def workload(self) -> dict[str, str]:
        """Return the workload's options in the engine's form."""
        return workload_options(self.config.workload)

    @property
    def virtual(self) -> bool:
        """Return whether its cores are simulated."""
        return self.config.machine.kind == "virtual"

    @property
    def name(self) -> str:
        """Return its name in files and metrics: the number and the label."""
        return f"{self.number}-{_NOT_IN_NAMES.sub('_', self.label)}"[:NAME_MAX]

    @property
    def prefix(self) -> str:
        """Return the prefix of messages about it; empty for the only one."""
        return f"{self.label}: " if self.label else ""

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of workload and machine, by their names."""
        machine: dict[str, Any] = asdict(self.config.machine)
        costs = machine.pop("costs", {})
        parts: Mapping[str, Mapping[str, Any]] = {
            "machine": machine,
            "machine.costs": costs,
            "workload": self.workload,
        }
        return {
            f"{part}.{name}": str(value)
            for part, values in parts.items()
            for name, value in values.items()
        }


def single_scenario(config: TrainConfig) -> list[Scenario]:
    """Return the scenario of a training for one workload, in a list."""
    return [Scenario(1, "", config)]


def combined(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the settings of each scenario: every combination of the values of an entry."""
    found = []
    for entry in entries:
        several = [value if isinstance(value, list) else [value] for value in entry.values()]
        found += [dict(zip(entry, values, strict=True)) for values in itertools.product(*several)]
    return found


def label_of(settings: Mapping[str, Any]) -> str:
    """Return a scenario's settings in words: `warehouses 4, cores 16`; only a group's choice."""
    words = [
        str(value) if key in GROUPS else f"{re.split('[./]', key)[-1]} {value}"
        for key, value in settings.items()
    ]
    return ", ".join(words)
