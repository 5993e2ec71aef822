"""The policy that is served in MLflow's registry. What is served never depends on it.

Each policy that was served is a version of a registered model, found again by its digest; the alias
`champion` points to the one that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trainer.mlflow_store import MlflowStore, reason_of
from trainer.nightly.state import Publication, StateFolder

ALIAS = "champion"

DIGEST = "heddle.digest"
"""A version's tag: the digest of its policy (`Publication.digest`)."""

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
        client = store.connect()
        aliases = _aliases(client, model)
        version = _version_of(client, model, served) or _register(client, model, served, state)
        if str(aliases.get(ALIAS)) != version:
            client.set_registered_model_alias(model, ALIAS, version)
    except Exception as error:
        say(
            f"MLflow at {store.uri} could not point {model}@{ALIAS} to the policy that is served "
            f"({reason_of(error)}). It is served all the same; the next night points there."
        )


def _aliases(client: Any, model: str) -> dict[str, Any]:
    """The model's aliases and their versions."""
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(model)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    return dict(client.get_registered_model(model).aliases)


def _version_of(client: Any, model: str, served: Publication) -> str | None:
    for found in client.search_model_versions(f"name = '{model}'"):
        if found.tags.get(DIGEST) == served.digest:
            return str(found.version)
    return None


def _register(client: Any, model: str, served: Publication, state: StateFolder) -> str:
    file = state.published(served.number) if served.number else state.policy
    tags = {DIGEST: served.digest}
    if served.conditions is not None:
        tags[DAY] = f"{served.conditions.day}"
    made = client.create_model_version(
        model,
        file.resolve().as_uri(),
        tags=tags,
        description=served.words,
        await_creation_for=0,
    )
    return str(made.version)
