"""Aliases in MLflow's registry, held fast: all nights of a backtest have the same policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainer.config import NightlyConfig
from trainer.policy_registry import SCHEME

Versions = Mapping[str, str]
"""What was typed, such as `registry:orders@champion`, and its version: `registry:orders/3`."""


def hold_versions(
    config: NightlyConfig, known: Versions, by_version: Callable[[str], str]
) -> dict[str, str]:
    """Put versions in the place of aliases, in the settings that name policies.

    Args:
        config: is changed.
        known: those that an earlier part of the same backtest found.
        by_version: from what is typed behind `registry:` to the same by its version.

    Returns:
        What was replaced, by what.

    Raises:
        RegistryError: there is no such version.
    """
    held: dict[str, str] = {}
    for names in (config.baselines, config.search.start):
        for place, name in enumerate(names):
            if name.startswith(f"{SCHEME}:"):
                rest = name.removeprefix(f"{SCHEME}:")
                held[name] = known.get(name) or f"{SCHEME}:{by_version(rest)}"
                names[place] = held[name]
    return held
