"""The settings of a saved run: what was typed for it, and its search as it was when it began.

By default, or by an experiment, another search may be chosen today, or have other numbers. And what
a run was made with, where it is compared with others: every other setting may have moved as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from trainer.command.errors import UsageError
from trainer.command.scenarios import as_trained, compose_scenarios
from trainer.command.settings import compose_config, to_settings
from trainer.config import TrainConfig
from trainer.run_folder import RunFolder

SEARCH = "search"


def saved_search(folder: RunFolder, typed: Sequence[str]) -> list[str]:
    """As much of a run's search as does not follow from what was typed any more, as it is typed.

    Args:
        folder: of the run; without settings that can be read, there is nothing.
        typed: for it.
    """
    kept = folder.saved_search()
    if kept is None:
        return []
    name = [] if _names_it(typed, kept["name"]) else [f"{SEARCH}={kept['name']}"]
    today = OmegaConf.to_container(compose_config("train", [*name, *typed])[SEARCH])
    assert isinstance(today, dict)
    keys = {text.partition("=")[0] for text in typed}
    others = [key for key in map(str, today) if key in kept and kept[key] != today[key]]
    return name + [
        f"{SEARCH}.{key}={_as_typed(kept[key])}" for key in others if f"{SEARCH}.{key}" not in keys
    ]


def with_saved_search(folder: RunFolder) -> list[str]:
    """What was typed for a run, and `saved_search`.

    Raises:
        RunFolderError: the file is damaged.
    """
    typed = folder.read_overrides()
    return [*saved_search(folder, typed), *typed]


def settings_of(folder: RunFolder) -> tuple[list[str], TrainConfig]:
    """What was typed for a run, and the settings that it was made with.

    A setting that is not among those which the run has kept is what it comes to today; so are all
    of a run for several workloads, whose scenarios have their own.

    Raises:
        RunFolderError: the file of what was typed is damaged.
        UsageError: a kept setting is none of this version's values.
    """
    typed = with_saved_search(folder)
    today = compose_config("train", typed)
    if today.robust.scenarios:
        config = to_settings(today, TrainConfig)
        return typed, as_trained(config, compose_scenarios(config, typed))
    try:
        made_with = OmegaConf.merge(today, _known(folder.saved_settings(), today))
        assert isinstance(made_with, DictConfig)
        return typed, to_settings(made_with, TrainConfig)
    except (OmegaConfBaseException, UsageError) as error:
        raise UsageError(f"{folder.config}: {error}; make the run again") from error


def _known(kept: Mapping[str, Any], today: DictConfig) -> dict[str, Any]:
    """Those of the kept settings that there are today, group by group."""
    return {
        key: _known(value, today[key])
        if isinstance(value, Mapping) and isinstance(today[key], DictConfig)
        else value
        for key, value in kept.items()
        if key in today
    }


def _names_it(typed: Sequence[str], name: str) -> bool:
    """Whether what was typed still comes to the search."""
    if any(text.startswith(f"{SEARCH}=") for text in typed):
        return True
    try:
        return bool(compose_config("train", typed)[SEARCH].name == name)
    except UsageError:  # such as a setting of a search that is chosen by default no longer
        return False


def _as_typed(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(_as_typed, value))}]"
    return str(value)
