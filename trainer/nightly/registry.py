"""The published policy in MLflow's registry. Publication never depends on the registry.

Each published policy is a version of a registered model, identified by its digest; the alias
`champion` points to the current one.
"""

from __future__ import annotations

from collections.abc import Callable

from trainer.mlflow_store import MlflowStore, reason_of
from trainer.nightly.state import Publication, StateFolder
from trainer.policy_registry import CHAMPION, PolicyRegistry, tags_of

DAY = "heddle.day"
"""A version's tag: the day whose peak hour it was trained for (UTC)."""


def align(store: MlflowStore, model: str, state: StateFolder, say: Callable[[str], None]) -> None:
    """Point the alias to the published policy.

    If that fails, one message reports it; the next night tries again.

    Args:
        store: the store of the registry.
        model: the registered model's name; created if it does not exist.
        state: the store of the nights.
        say: shows a message to the user.

    Raises:
        StateError: the published policy is damaged.
    """
    served = state.served()
    if served is None:
        return
    try:
        registry = PolicyRegistry(store.connect(), model)
        registry.create()
        version = registry.version_of(served.digest) or _register(registry, served, state)
        registry.point(CHAMPION, version)
    except Exception as error:
        say(
            f"MLflow at {store.uri} could not point {model}@{CHAMPION} to the published policy "
            f"({reason_of(error)}). The policy is published even so; the next night tries again."
        )


def _register(registry: PolicyRegistry, served: Publication, state: StateFolder) -> str:
    file = state.published(served.number) if served.number else state.policy
    tags = tags_of(served.document)
    if served.conditions is not None:
        tags[DAY] = f"{served.conditions.day}"
    return registry.register(file.resolve().as_uri(), tags, served.words)
