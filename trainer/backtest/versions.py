"""Fixed versions for registry aliases: all nights of a backtest use the same policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainer.config import NightlyConfig
from trainer.policy_registry import SCHEME

Versions = Mapping[str, str]
"""The text of a setting, such as `registry:orders@champion`, and its version, such as
`registry:orders/3`."""


def hold_versions(
    config: NightlyConfig, known: Versions, by_version: Callable[[str], str]
) -> dict[str, str]:
    """Replace aliases by versions, in the settings that name policies.

    Args:
        config: is changed.
        known: versions found by an earlier part of the same backtest.
        by_version: maps the text after `registry:` to the same with a version.

    Returns:
        The version for each alias replaced.

    Raises:
        RegistryError: the version does not exist.
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
