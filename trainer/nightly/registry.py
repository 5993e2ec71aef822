"""The policy that is served in MLflow's registry. What is served never depends on it.

Each policy that was served is a version of a registered model, found again by its digest; the alias
`champion` points to the one that is.
"""

from __future__ import annotations

from collections.abc import Callable

from trainer.mlflow_store import MlflowStore, reason_of
from trainer.nightly.state import Publication, StateFolder
from trainer.policy_registry import CHAMPION, PolicyRegistry, tags_of

DAY = "heddle.day"
"""A version's tag: the day whose peak hour it was trained for (UTC)."""


def align(store: MlflowStore, model: str, state: StateFolder, say: Callable[[str], None]) -> None:
    """Bring the alias into line with the policy that is served.

    Where that fails, one message says so; the next night does it.

    Args:
        store: whose registry.
        model: the registered model's name; made if it is not there.
        state: of the nights.
        say: shows a message to the person.

    Raises:
        StateError: the policy that is served is damaged.
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
            f"MLflow at {store.uri} could not point {model}@{CHAMPION} to the policy that is "
            f"served ({reason_of(error)}). It is served all the same; the next night points there."
        )


def _register(registry: PolicyRegistry, served: Publication, state: StateFolder) -> str:
    file = state.published(served.number) if served.number else state.policy
    tags = tags_of(served.document)
    if served.conditions is not None:
        tags[DAY] = f"{served.conditions.day}"
    return registry.register(file.resolve().as_uri(), tags, served.words)
