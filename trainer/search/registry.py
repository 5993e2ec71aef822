"""The registry of searches: the names that `search=` accepts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from trainer.config import SearchConfig
from trainer.search.base import Candidate, Search
from trainer.search.evolution import Evolution, EvolutionConfig
from trainer.search.guided import Guided, GuidedConfig
from trainer.search.local import Local, LocalConfig
from trainer.search.policy_gradient import (
    PolicyGradient,
    PolicyGradientConfig,
    gradient_no_start_reason,
)
from trainer.search.random import RandomConfig, RandomSearch, random_no_start_reason
from trainer.search.reduction import Reduction, ReductionConfig
from trainer.search.settled import Settled
from trainer.search.space import Space

Build = Callable[[Space, Any, Sequence[Candidate], int], Search]


@dataclass(frozen=True)
class Entry:
    """A registered search.

    Attributes:
        build: makes the search from (space, settings, warm start, seed).
        config: the dataclass of its settings. Its defaults apply to `search=NAME` unless
            `configs/search/NAME.yaml` has others.
        no_start_reason: returns why the search can't start from a given table (`search.start`) with
            these settings, and what to set instead; None if it can.
    """

    build: Build
    config: type[SearchConfig]
    no_start_reason: Callable[[Any], str | None] = lambda config: None


SEARCHES: dict[str, Entry] = {
    "evolution": Entry(Evolution, EvolutionConfig),
    "guided": Entry(Guided, GuidedConfig),
    "local": Entry(Local, LocalConfig),
    "policy_gradient": Entry(PolicyGradient, PolicyGradientConfig, gradient_no_start_reason),
    "random": Entry(RandomSearch, RandomConfig, random_no_start_reason),
    "reduction": Entry(Reduction, ReductionConfig),
}


def build_search(
    config: SearchConfig, space: Space, start: Sequence[Candidate], seed: int
) -> Search:
    """Create the search that the settings name.

    Args:
        config: the settings of the search.
        space: the tables that it may propose, as `space_of` returns for these settings.
        start: good candidates to start from, the most promising first.
        seed: of its random numbers.

    Raises:
        ValueError: the search does not exist, or can't start from `search.start`.
    """
    entry = SEARCHES.get(config.name)
    if entry is None:
        raise ValueError(f"search={config.name}: no such search; there are {', '.join(SEARCHES)}")
    reason = entry.no_start_reason(config) if config.start else None
    if reason is not None:
        raise ValueError(f"search.start=[{','.join(config.start)}]: {reason}")
    search = entry.build(space, config, start, seed)
    settles = space.encoding.scheduled or space.encoding.protocols
    return Settled(search, space.encoding) if settles else search


def register_searches() -> None:
    """Register every search's settings with Hydra, and the defaults of those without a file."""
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance()
    with_files = files("configs").joinpath("search")
    for name, entry in SEARCHES.items():
        store.store(f"{name}_schema", entry.config, group="search")
        if not with_files.joinpath(f"{name}.yaml").is_file():
            store.store(name, entry.config(name=name), group="search")
