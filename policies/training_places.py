"""Where a policy was trained, as its provenance says: in one place, or in the members of a mix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCENARIOS_KEY = "members"
"""The field of a provenance that lists the places of a mix (docs/robust.md)."""


@dataclass(frozen=True)
class TrainingPlace:
    """A place that a policy was trained for.

    Attributes:
        workload: its options, the name among them; empty if that is not known.
        machine: its kind and cores, likewise.
    """

    workload: Mapping[str, Any]
    machine: Mapping[str, Any]


def training_places(provenance: Mapping[str, Any]) -> list[TrainingPlace]:
    """The places that a policy was trained for: one at least, of which nothing may be known.

    Args:
        provenance: of the policy. Whoever wrote it: what is not of the right form is not known.
    """
    members = provenance.get(SCENARIOS_KEY)
    places = members if isinstance(members, list) and members else [provenance]
    return [TrainingPlace(_field(place, "workload"), _field(place, "machine")) for place in places]


def _field(place: Any, name: str) -> Mapping[str, Any]:
    found = place.get(name) if isinstance(place, Mapping) else None
    return found if isinstance(found, Mapping) else {}
