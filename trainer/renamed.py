"""Renamed settings, and their names in files of earlier versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "robust.members": "robust.scenarios",
        "evaluation.looks": "evaluation.rungs",
        "robust.objective": "robust.combine",
    }
)
"""The present name of a setting by its name in earlier versions."""


def with_present_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return saved settings, nested by group, under their present names."""
    found = dict(settings)
    for old, present in RENAMED.items():
        group, _, key = old.partition(".")
        values = found.get(group)
        if isinstance(values, Mapping) and key in values:
            new = present.partition(".")[2]
            found[group] = {new if name == key else name: value for name, value in values.items()}
    return found


def present_overrides(overrides: Sequence[str]) -> list[str]:
    """Return saved overrides (`key=value`) with present names of settings."""
    return [_present_override(text) for text in overrides]


def present_key(key: str) -> str:
    """Return the present name of a setting."""
    return RENAMED.get(key, key)


def _present_override(text: str) -> str:
    key, equals, value = text.partition("=")
    name = key.lstrip("+~")
    return f"{key.removesuffix(name)}{present_key(name)}{equals}{value}"
