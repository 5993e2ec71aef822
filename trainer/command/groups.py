"""The groups of settings, such as `machine=`, and what can be chosen in each."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

import yaml

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


def choices_with(group: str, setting: str) -> list[str]:
    """The choices of a group whose file has a setting: `search`, `parents` → `evolution`.

    Of a variant, whose file says only what differs, nothing but that.

    Args:
        group: one of `group_choices`; of any other there are none.
        setting: its name within the group, such as `costs.memory_ns`.
    """
    return [choice for choice in group_choices().get(group, ()) if _has(group, choice, setting)]


def _has(group: str, choice: str, setting: str) -> bool:
    file = files(CONFIGS).joinpath(group, f"{choice}{ENDING}")
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    for key in setting.split("."):
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


def _listed(folder: Traversable) -> list[Traversable]:
    """What is in a folder, but for what Python puts there."""
    found = (one for one in folder.iterdir() if not one.name.startswith("_"))
    return sorted(found, key=lambda one: one.name)
