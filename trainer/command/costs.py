"""Files of costs for the virtual machine, as `heddle machine calibrate` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from importlib.resources import files
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from trainer.command.errors import UsageError
from trainer.command.typed_values import unquoted
from trainer.config import CostsConfig

KEY = "machine/costs"
"""The group whose choices are such files; a path may replace a choice."""

PUBLISHED = "paper"
"""The choice whose values are used for costs that can't be measured."""


def published_costs() -> dict[str, float | int]:
    """Return the costs of the choice `PUBLISHED`."""
    text = (files("configs") / "machine" / "costs" / f"{PUBLISHED}.yaml").read_text("utf-8")
    config = OmegaConf.create(text)
    assert isinstance(config, DictConfig)
    return {str(key): value for key, value in config.items()}


def with_costs_files(overrides: Sequence[str]) -> list[str]:
    """Return the overrides with each `machine/costs=FILE.yaml` replaced by its costs.

    Raises:
        UsageError: the file can't be read, lacks a cost, or holds something else.
    """
    written: list[str] = []
    for text in overrides:
        key, _, value = text.partition("=")
        value = unquoted(value)
        if key != KEY or not value.endswith((".yaml", ".yml")):
            written.append(text)
            continue
        costs = read_costs(Path(value))
        written += [f"machine.costs.{name}={cost}" for name, cost in costs.items()]
    return written


def read_costs(path: Path) -> dict[str, float | int]:
    """Return the costs in a file.

    Raises:
        UsageError: see `with_costs_files`.
    """
    try:
        config = OmegaConf.load(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{KEY}={path}: can't be read: {error}") from error
    except (OmegaConfBaseException, YAMLError) as error:
        raise UsageError(f"{KEY}={path}: is not YAML: {str(error).splitlines()[0]}") from error
    names = [field.name for field in fields(CostsConfig)]
    found = {str(key): config[key] for key in config} if isinstance(config, DictConfig) else {}
    wrong = [name for name in found if name not in names]
    missing = [name for name in names if name not in found]
    if wrong or missing:
        what = f"{wrong[0]} is not a cost" if wrong else f"{missing[0]} is missing"
        raise UsageError(f"{KEY}={path}: {what}; it must hold {', '.join(names)}")
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"{KEY}={path}: {name} is {value!r}; it must be a number")
    return found
