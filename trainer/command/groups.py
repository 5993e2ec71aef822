"""The groups of settings, such as `machine=`, and the choices of each."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

import yaml

from trainer.search.registry import SEARCHES

CONFIGS = "configs"
"""The package of the settings' values: a folder per group, a file per choice."""

ENDING = ".yaml"
SEARCH = "search"


@functools.cache
def group_choices() -> Mapping[str, Sequence[str]]:
    """Return the groups, such as `machine/costs`, each with its choices.

    They are read from the folders, because Hydra's own loader takes a third of a second. A search
    needs no file there.
    """
    found: dict[str, list[str]] = {}
    waiting = [(item.name, item) for item in _listed(files(CONFIGS)) if item.is_dir()]
    for name, folder in waiting:
        inside = _listed(folder)
        waiting += [(f"{name}/{item.name}", item) for item in inside if item.is_dir()]
        choices = [item.name.removesuffix(ENDING) for item in inside if item.name.endswith(ENDING)]
        if choices:
            found[name] = sorted({*choices, *SEARCHES}) if name == SEARCH else choices
    return MappingProxyType(found)


def choices_with(group: str, setting: str) -> list[str]:
    """Return the choices of a group with a setting: `machine`, `costs.memory_ns` → `virtual`.

    Args:
        group: one of `group_choices`; any other has no choices.
        setting: its name within the group.
    """
    choices = group_choices().get(group, ())
    return [choice for choice in choices if _has(group_settings(group, choice), setting)]


def _has(values: object, setting: str) -> bool:
    for key in setting.split("."):
        if not isinstance(values, Mapping) or key not in values:
            return False
        values = values[key]
    return True


def group_settings(group: str, choice: str) -> dict[str, object]:
    """Return the settings of a choice, including those of the choices that it extends."""
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
    """Return the files and folders in a folder, without Python's own."""
    found = (item for item in folder.iterdir() if not item.name.startswith("_"))
    return sorted(found, key=lambda item: item.name)
