"""Trainings in front of an external store: their baselines, and what they can't do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from envs import BASELINES, THREADS, TunedBackoff
from envs.external_sweep import TUNED_EXTERNAL, TunedStore
from envs.reference import Reference
from envs.subject import is_external
from policies.protocol import shown_name
from trainer.config import SearchConfig, TrainConfig
from trainer.scenario import Scenario
from trainer.search.space import store_of


def with_store_baselines(config: TrainConfig) -> TrainConfig:
    """Return the settings with the store's own baselines, unless others than the default are set.

    They are the store alone and `external_tuned`. The default ones run in the engine.
    """
    store = store_of(config.search)
    if store is None or tuple(config.baselines) != BASELINES:
        return config
    return replace(config, baselines=[store.name, TUNED_EXTERNAL])


def untuned_reference(config: SearchConfig) -> Reference:
    """Return a reference that is not measured, for checks of names."""
    store = store_of(config)
    return TunedBackoff(1.0) if store is None else TunedStore(store.options)


def check_store_training(config: TrainConfig, scenarios: Sequence[Scenario]) -> None:
    """Check the settings of a training in front of a store; others are not concerned.

    Raises:
        ValueError: a setting is wrong; the message names it.
    """
    store = store_of(config.search)
    if store is None:
        return
    for place in [scenario.config for scenario in scenarios] or [config]:
        if place.machine.kind != THREADS["kind"]:
            raise ValueError(
                f"machine={place.machine.kind}: search.protocols=[{shown_name(store.name)}] "
                "waits for a "
                "database, which would stop all virtual cores; set machine=threads"
            )
    if inside := [name for name in config.baselines if not is_external(name)]:
        raise ValueError(
            f"baselines: {', '.join(inside)} run in the engine, and the training is in front of a "
            f"store; name {TUNED_EXTERNAL}, or external with options"
        )


def refuse_store(config: SearchConfig, command: str) -> None:
    """Refuse a search in front of a store where only the engine's tables are trained.

    Raises:
        ValueError: `search.protocols` names a store.
    """
    store = store_of(config)
    if store is not None:
        raise ValueError(
            f"search.protocols=[{shown_name(store.name)}]: {command} trains for the engine; use "
            "heddle train"
        )
