"""The groups of settings, such as `machine=`, and what can be chosen in each."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

CONFIGS = "configs"
"""The package of the settings' values: a folder a group, a file a choice."""

ENDING = ".yaml"


@functools.cache
def group_choices() -> Mapping[str, Sequence[str]]:
    """The groups, such as `machine/costs`, each with its choices.

    Read from the folders: Hydra's own loader takes a third of a second to say the same.
    """
    found: dict[str, list[str]] = {}
    waiting = [(one.name, one) for one in _listed(files(CONFIGS)) if one.is_dir()]
    for name, folder in waiting:
        inside = _listed(folder)
        waiting += [(f"{name}/{one.name}", one) for one in inside if one.is_dir()]
        choices = [one.name.removesuffix(ENDING) for one in inside if one.name.endswith(ENDING)]
        if choices:
            found[name] = choices
    return MappingProxyType(found)


def _listed(folder: Traversable) -> list[Traversable]:
    """What is in a folder, but for what Python puts there."""
    found = (one for one in folder.iterdir() if not one.name.startswith("_"))
    return sorted(found, key=lambda one: one.name)
