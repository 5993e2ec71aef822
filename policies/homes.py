"""Where a policy was trained, as its provenance says: in one place, or in several scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCENARIOS_KEY = "scenarios"
"""The field of a provenance that lists the scenarios of a robust training (docs/robust.md)."""

OLD_SCENARIOS_KEY = "members"
"""Its name in policies of earlier versions."""


@dataclass(frozen=True)
class Home:
    """A place that a policy was trained for.

    Attributes:
        workload: its options, the name among them; empty if that is not known.
        machine: its kind and cores, likewise.
    """

    workload: Mapping[str, Any]
    machine: Mapping[str, Any]


def homes(provenance: Mapping[str, Any]) -> list[Home]:
    """The places that a policy was trained for: one at least, of which nothing may be known.

    Args:
        provenance: of the policy. Whoever wrote it: what is not of the right form is not known.
    """
    found = provenance.get(SCENARIOS_KEY, provenance.get(OLD_SCENARIOS_KEY))
    places = found if isinstance(found, list) and found else [provenance]
    return [Home(_field(place, "workload"), _field(place, "machine")) for place in places]


def _field(place: Any, name: str) -> Mapping[str, Any]:
    found = place.get(name) if isinstance(place, Mapping) else None
    return found if isinstance(found, Mapping) else {}
