"""The places that a policy was trained for, from its provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCENARIOS_KEY = "scenarios"
"""The field of a provenance that lists the scenarios of a robust training (docs/robust.md)."""

OLD_SCENARIOS_KEY = "members"
"""The same field in policies of earlier versions."""


@dataclass(frozen=True)
class TrainingPlace:
    """A place that a policy was trained for.

    Attributes:
        workload: name and options of the workload; empty if unknown.
        machine: kind and cores of the machine; empty if unknown.
    """

    workload: Mapping[str, Any]
    machine: Mapping[str, Any]


def training_places(provenance: Mapping[str, Any]) -> list[TrainingPlace]:
    """Return the places that a policy was trained for, at least one.

    Args:
        provenance: provenance of the policy. Fields of another form are ignored.
    """
    scenarios = provenance.get(SCENARIOS_KEY, provenance.get(OLD_SCENARIOS_KEY))
    places = scenarios if isinstance(scenarios, list) and scenarios else [provenance]
    return [TrainingPlace(_field(place, "workload"), _field(place, "machine")) for place in places]


def _field(place: Any, name: str) -> Mapping[str, Any]:
    found = place.get(name) if isinstance(place, Mapping) else None
    return found if isinstance(found, Mapping) else {}
