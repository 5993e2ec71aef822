"""The groups of settings, such as `machine=`, and what can be chosen in each."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

import yaml

from trainer.search.registry import SEARCHES

CONFIGS = "configs"
"""The package of the settings' values: a folder a group, a file a choice."""

ENDING = ".yaml"
SEARCH = "search"


@functools.cache
def group_choices() -> Mapping[str, Sequence[str]]:
    """The groups, such as `machine/costs`, each with its choices.

    Read from the folders: Hydra's own loader takes a third of a second to say the same. A search
    needs no file there.
    """
    found: dict[str, list[str]] = {}
    waiting = [(one.name, one) for one in _listed(files(CONFIGS)) if one.is_dir()]
    for name, folder in waiting:
        inside = _listed(folder)
        waiting += [(f"{name}/{one.name}", one) for one in inside if one.is_dir()]
        choices = [one.name.removesuffix(ENDING) for one in inside if one.name.endswith(ENDING)]
        if choices:
            found[name] = sorted({*choices, *SEARCHES}) if name == SEARCH else choices
    return MappingProxyType(found)


def choices_with(group: str, setting: str) -> list[str]:
    """The choices of a group that have a setting: `machine`, `costs.memory_ns` → `virtual`.

    Args:
        group: one of `group_choices`; of any other there are none.
        setting: its name within the group.
    """
    return [
        one for one in group_choices().get(group, ()) if _has(group_settings(group, one), setting)
    ]


def _has(values: object, setting: str) -> bool:
    for key in setting.split("."):
        if not isinstance(values, Mapping) or key not in values:
            return False
        values = values[key]
    return True


def group_settings(group: str, choice: str) -> dict[str, object]:
    """The settings of a choice and of the choices of its group that it is made from."""
    file = files(CONFIGS).joinpath(group, f"{choice}{ENDING}")
    if group == SEARCH and not file.is_file():
        return vars(SEARCHES[choice].config(name=choice))
    own = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    found: dict[str, object] = {}
    for base in own.pop("defaults", []):
        if isinstance(base, str) and base in group_choices()[group]:
            found |= group_settings(group, base)
        elif isinstance(base, dict):  # such as costs: paper, of machine
            inner = ((f"{group}/{name}", name, chosen) for name, chosen in base.items())
            found |= {
                name: group_settings(folder, chosen)
                for folder, name, chosen in inner
                if chosen in group_choices().get(folder, ())
            }
    return found | own


def _listed(folder: Traversable) -> list[Traversable]:
    """What is in a folder, but for what Python puts there."""
    found = (one for one in folder.iterdir() if not one.name.startswith("_"))
    return sorted(found, key=lambda one: one.name)
