"""The settings of a saved run: its overrides, and the settings of its search.

The default or an experiment may choose another search today, or other numbers for it, so a resumed
run takes its search from its folder. A comparison with other runs takes all settings from there.
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
    """Return the settings of a run's search that its overrides no longer give, as overrides.

    Args:
        folder: of the run; if its settings can't be read, the result is empty.
        typed: the run's overrides.
    """
    saved = folder.saved_search()
    if saved is None:
        return []
    name = [] if _chooses_search(typed, saved["name"]) else [f"{SEARCH}={saved['name']}"]
    today = OmegaConf.to_container(compose_config("train", [*name, *typed])[SEARCH])
    assert isinstance(today, dict)
    keys = {text.partition("=")[0] for text in typed}
    others = [key for key in map(str, today) if key in saved and saved[key] != today[key]]
    return name + [
        f"{SEARCH}.{key}={_as_typed(saved[key])}" for key in others if f"{SEARCH}.{key}" not in keys
    ]


def with_saved_search(folder: RunFolder) -> list[str]:
    """Return `saved_search` and the run's overrides.

    Raises:
        RunFolderError: the file is damaged.
    """
    typed = folder.read_overrides()
    return [*saved_search(folder, typed), *typed]


def settings_of(folder: RunFolder) -> tuple[list[str], TrainConfig]:
    """Return a run's overrides, and the settings that it was made with.

    A setting that the run has not saved has today's value, and so do all settings of a run for
    several workloads, whose scenarios have their own.

    Raises:
        RunFolderError: the file of the overrides is damaged.
        UsageError: this version does not accept the value of a saved setting.
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
        raise UsageError(f"{folder.config}: {error}; train again") from error


def _known(saved: Mapping[str, Any], today: DictConfig) -> dict[str, Any]:
    """Return the saved settings that this version has, nested by group."""
    return {
        key: _known(value, today[key])
        if isinstance(value, Mapping) and isinstance(today[key], DictConfig)
        else value
        for key, value in saved.items()
        if key in today
    }


def _chooses_search(typed: Sequence[str], name: str) -> bool:
    """Return whether the overrides choose a search by themselves: by name, or by this default."""
    if any(text.startswith(f"{SEARCH}=") for text in typed):
        return True
    try:
        return bool(compose_config("train", typed)[SEARCH].name == name)
    except UsageError:  # such as a setting of a search that is no longer the default
        return False


def _as_typed(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(_as_typed, value))}]"
    return str(value)
