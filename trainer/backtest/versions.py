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

    def hold(name: str) -> str:
        if not name.startswith(f"{SCHEME}:"):
            return name
        rest = name.removeprefix(f"{SCHEME}:")
        held[name] = known.get(name) or f"{SCHEME}:{by_version(rest)}"
        return held[name]

    for names in (config.baselines, config.search.start):
        names[:] = [hold(name) for name in names]
    if config.search.base is not None:
        config.search.base = hold(config.search.base)
    return held
