"""The searches, by the name that follows `search=`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from hydra.core.config_store import ConfigStore

from trainer.config import SearchConfig
from trainer.search.base import Candidate, Search
from trainer.search.evolution import Evolution, EvolutionConfig
from trainer.search.guided import Guided, GuidedConfig
from trainer.search.local import Local, LocalConfig
from trainer.search.policy_gradient import (
    PolicyGradient,
    PolicyGradientConfig,
    why_no_gradient_from,
)
from trainer.search.random import RandomConfig, RandomSearch, why_not_random_from
from trainer.search.reduction import Reduction, ReductionConfig
from trainer.search.settled import Settled
from trainer.search.space import Space

Build = Callable[[Space, Any, Sequence[Candidate], int], Search]


@dataclass(frozen=True)
class Entry:
    """A registered search.

    Attributes:
        build: from (space, settings, warm start, seed).
        config: the dataclass of its settings. Its defaults are those of `search=NAME`, unless
            `configs/search/NAME.yaml` has others.
        why_not_from: why it can't start, with these settings, from a table that is given to it
            (`search.start`), and what would do; None if it can.
    """

    build: Build
    config: type[SearchConfig]
    why_not_from: Callable[[Any], str | None] = lambda config: None


SEARCHES: dict[str, Entry] = {
    "evolution": Entry(Evolution, EvolutionConfig),
    "guided": Entry(Guided, GuidedConfig),
    "local": Entry(Local, LocalConfig),
    "policy_gradient": Entry(PolicyGradient, PolicyGradientConfig, why_no_gradient_from),
    "random": Entry(RandomSearch, RandomConfig, why_not_random_from),
    "reduction": Entry(Reduction, ReductionConfig),
}


def build_search(
    config: SearchConfig, space: Space, start: Sequence[Candidate], seed: int
) -> Search:
    """Make the search that the settings name.

    Args:
        config: its settings.
        space: what it may propose, that of its settings (`space_of`).
        start: known good candidates, best guesses first.
        seed: of its random numbers.

    Raises:
        ValueError: there is no such search, or it can't start from `search.start`.
    """
    entry = SEARCHES.get(config.name)
    if entry is None:
        raise ValueError(f"search={config.name}: no such search; there are {', '.join(SEARCHES)}")
    why_not = entry.why_not_from(config) if config.start else None
    if why_not is not None:
        raise ValueError(f"search.start=[{','.join(config.start)}]: {why_not}")
    search = entry.build(space, config, start, seed)
    return Settled(search, space.encoding) if space.encoding.scheduled else search


def register_searches() -> None:
    """Tell Hydra the types of every search's settings, and the defaults of those without a file."""
    store = ConfigStore.instance()
    with_files = files("configs").joinpath("search")
    for name, entry in SEARCHES.items():
        store.store(f"{name}_schema", entry.config, group="search")
        if not with_files.joinpath(f"{name}.yaml").is_file():
            store.store(name, entry.config(name=name), group="search")
