"""Policies in MLflow's model registry: versions of a registered model, named by alias or number.

All commands that take a policy accept `registry:NAME@ALIAS` and `registry:NAME/VERSION`. A
version's tags are digests of the policy and of the workload's signature, workload, machine, store
and scores. `heddle train` and `heddle nightly` register learned policies; neither depends on it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from envs import machine_words
from envs.result import Machine
from policies import PolicyDocument, PolicyFileError, Signature, digest, from_json, to_json
from policies.format import read_text
from policies.policy_digest import policy_digest
from policies.protocol import EXTERNAL, fixed_options, protocol_name, typed, without_places
from policies.sources import add_source
from policies.training_places import training_places
from trainer.mlflow_store import MlflowStore, reason_of, sqlite_file

SCHEME = "registry"

CHAMPION = "champion"
"""The alias of the version to use."""

CANDIDATE = "candidate"
"""The alias of the version registered last."""

DIGEST = "heddle.digest"
"""A version's tag: the digest of its file (`policies.digest`), including date and scores."""

POLICY = "heddle.policy"
"""A version's tag: the digest of its policy's behaviour (`policies.policy_digest`)."""

RUN = "heddle.run"
"""A version's tag: the run that learned its policy."""

SIGNATURE = "heddle.signature"
"""A version's tag: the digest of the signature of the workloads that the policy fits."""

_NOT_IN_KEYS = re.compile(r"[^\w.\-]")
_LISTED = 10


class RegistryError(PolicyFileError):
    """A policy that the registry can't provide; the message names the reason and the cure."""


@dataclass(frozen=True)
class Reference:
    """A version of a registered model: the text after `registry:`.

    Attributes:
        model: the registered model's name.
        alias: of the version; None if it is named by its number.
        version: its number; None if it is named by an alias.
    """

    model: str
    alias: str | None = None
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Read `NAME@ALIAS` or `NAME/VERSION`.

        Raises:
            RegistryError: it is neither.
        """
        model, at, alias = text.rpartition("@")
        if at and model and alias:
            return cls(model, alias=alias)
        model, slash, version = text.rpartition("/")
        if slash and model and version.isascii() and version.isdigit():
            return cls(model, version=version)
        name = text.strip("@/") or "NAME"
        raise RegistryError(
            f"{SCHEME}:{text}: names no version; write {SCHEME}:{name}@{CHAMPION}, or a version's "
            f"number, such as {SCHEME}:{name}/1"
        )

    def __str__(self) -> str:
        rest = f"@{self.alias}" if self.alias is not None else f"/{self.version}"
        return f"{SCHEME}:{self.model}{rest}"


@dataclass(frozen=True)
class Registered:
    """A registered version.

    Attributes:
        model: the registered model's name.
        version: its number.
        aliases: its present aliases.
    """

    model: str
    version: str
    aliases: list[str]


def tags_of(document: PolicyDocument) -> dict[str, str]:
    """Return the tags of a version, from its policy's provenance."""
    known = document.provenance
    tags = {
        DIGEST: digest(document),
        POLICY: policy_digest(document),
        SIGNATURE: signature_digest(document.signature),
    }
    places = training_places(known)
    if all(place.workload for place in places):
        tags["heddle.workload"] = " | ".join(
            " ".join(
                str(value) if key == "name" else f"{key}={value}"
                for key, value in place.workload.items()
            )
            for place in places
        )
    if all(isinstance(place.machine.get("cores"), int) for place in places):
        tags["heddle.machine"] = " | ".join(
            machine_words(Machine.from_dict(place.machine)) for place in places
        )
    if protocol_name(document.protocol) == EXTERNAL:
        assert document.protocol is not None
        fixed = fixed_options(document.protocol["options"])
        tags["heddle.store"] = typed(EXTERNAL, without_places(fixed))
    for key in ("search", "combine", "run", "version"):
        if key in known:
            tags[f"heddle.{key}"] = str(known[key])
    if "objective" in known:
        tags["heddle.objective"] = json.dumps(known["objective"], ensure_ascii=False)
    for field, key in (
        ("scores", "score"),
        ("scores_on_threads", "score_on_threads"),
        ("front", "front"),
    ):
        scores = known.get(field)
        for name, score in scores.items() if isinstance(scores, Mapping) else ():
            tags[f"heddle.{key}.{_NOT_IN_KEYS.sub('_', str(name))}"[:250]] = str(score)
    return tags


def signature_digest(signature: Signature) -> str:
    """Return the digest of a signature."""
    text = json.dumps(signature.to_dict(), ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def refuse_bad_model(model: str | None) -> None:
    """Refuse a name of a model that references can't contain, before hours of training.

    Raises:
        ValueError: it is one.
    """
    if model is not None and (
        not re.fullmatch(r"[\w.\- ]{1,100}", model) or set(model) <= {".", " "}
    ):
        raise ValueError(
            f"registered_model={model[:100]}: must have at most 100 letters, digits, spaces, _ - "
            "and ., such as tpcc-1"
        )


class PolicyRegistry:
    """The versions of one registered model.

    Args:
        client: of MLflow.
        model: its name.
    """

    def __init__(self, client: Any, model: str) -> None:
        self._client = client
        self._model = model

    def create(self) -> None:
        """Create the registered model, if it is missing."""
        from mlflow.exceptions import MlflowException

        try:
            self._client.create_registered_model(self._model)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise

    @property
    def aliases(self) -> dict[str, str]:
        """Return the model's aliases with the versions that they point to."""
        found = self._client.get_registered_model(self._model).aliases
        return {str(alias): str(version) for alias, version in dict(found).items()}

    def version_of(self, policy_digest: str) -> str | None:
        """Return the version of the policy file with this digest; None if there is none."""
        for found in self._versions():
            if found.tags.get(DIGEST) == policy_digest:
                return str(found.version)
        return None

    def version_like(self, tags: Mapping[str, str]) -> str | None:
        """Return the version of the same file, or else of the same policy from the same run.

        A resumed run writes its file again, with another date and other scores.
        """
        versions = self._versions()
        for same in ((DIGEST,), (RUN, POLICY)):
            for found in versions:
                if all(key in tags and found.tags.get(key) == tags[key] for key in same):
                    return str(found.version)
        return None

    def is_only(self, version: str) -> bool:
        """Return whether the model has no other version."""
        return [str(found.version) for found in self._versions()] == [version]

    def _versions(self) -> list[Any]:
        return list(self._client.search_model_versions(f"name = '{self._model}'"))

    def register(
        self, source: str, tags: Mapping[str, str], words: str, run_id: str | None = None
    ) -> str:
        """Create a version.

        Args:
            source: URI of the policy's file.
            tags: of the version.
            words: its description.
            run_id: the MLflow run that made it.

        Returns:
            The number of the version.
        """
        made = self._client.create_model_version(
            self._model,
            source,
            run_id=run_id,
            tags=dict(tags),
            description=words,
            await_creation_for=0,
        )
        return str(made.version)

    def point(self, alias: str, version: str) -> None:
        """Make an alias point to a version."""
        if self.aliases.get(alias) != version:
            self._client.set_registered_model_alias(self._model, alias, version)


def register_candidate(
    client: Any, model: str, document: PolicyDocument, run_id: str
) -> Registered:
    """Register a learned policy as the candidate, and as the champion if it is the first version.

    The file is kept with the MLflow run under its digest, so that a resumed run does not change it.
    The same policy of one run is not registered twice.

    Raises:
        Exception: any, as MLflow and its libraries raise them.
    """
    registry = PolicyRegistry(client, model)
    version = register_version(client, registry, document, run_id)
    registry.point(CANDIDATE, version)
    if CHAMPION not in registry.aliases and registry.is_only(version):
        registry.point(CHAMPION, version)
    pointing = [alias for alias, at in registry.aliases.items() if at == version]
    return Registered(model, version, sorted(pointing))


def register_version(
    client: Any, registry: PolicyRegistry, document: PolicyDocument, run_id: str
) -> str:
    """Register a policy without an alias, unless the run has registered it before.

    Returns:
        The number of its version.

    Raises:
        Exception: any, as MLflow and its libraries raise them.
    """
    registry.create()
    tags = tags_of(document)
    version = registry.version_like(tags)
    if version is not None:
        return version
    place = f"registered/{tags[DIGEST]}.json"
    client.log_text(run_id, to_json(document), place)
    source = f"{client.get_run(run_id).info.artifact_uri.rstrip('/')}/{place}"
    return registry.register(source, tags, document.name, run_id)


def default_store(uri: str | None = None) -> MlflowStore:
    """Return the store at a URI, or else that of MLflow's variables or the file in `runs`."""
    known = ("MLFLOW_REGISTRY_URI", "MLFLOW_TRACKING_URI")
    named = uri or next((os.environ[name] for name in known if os.environ.get(name)), None)
    return MlflowStore(named, Path("runs"))


class RegistryReader:
    """Reads policies from a store's registry; each reference is read once.

    Args:
        store: the store, which is not created if it is missing.
    """

    def __init__(self, store: MlflowStore) -> None:
        self._store = store

    @functools.cached_property
    def _client(self) -> Any:
        refuse_missing(self._store)
        try:
            client = self._store.connect()
            client.search_registered_models(max_results=1)
            return client
        except Exception as error:
            raise RegistryError(
                f"MLflow at {self._store.uri} can't be reached: {reason_of(error)}"
            ) from error

    @functools.cache  # noqa: B019  (lives as long as the command)
    def text(self, typed: str) -> str:
        """Return the text of a version's policy file (a `policies.sources.Reader`).

        Raises:
            RegistryError: there is no such store, model, alias or version, or its file has changed
                since it was registered.
        """
        reference = Reference.parse(typed)
        found = self._version(reference)
        text = self._download(reference, str(found.source))
        wanted = found.tags.get(DIGEST)
        if wanted is not None and digest(from_json(text, str(reference), check=False)) != wanted:
            raise RegistryError(
                f"{reference}: {found.source} has changed since it was registered as version "
                f"{found.version}; name another version"
            )
        return text

    def by_version(self, typed: str) -> str:
        """Return a reference by the number of the version, which never changes, unlike an alias.

        Args:
            typed: `NAME@ALIAS` or `NAME/VERSION`.

        Raises:
            RegistryError: it is neither, or there is no such version.
        """
        reference = Reference.parse(typed)
        return f"{reference.model}/{self._version(reference).version}"

    def promote(self, reference: Reference) -> tuple[str | None, str]:
        """Make a version the champion.

        Returns:
            The previous champion's version, and the present one's.

        Raises:
            RegistryError: there is no such version, or the alias can't be set.
        """
        version = str(self._version(reference).version)
        registry = PolicyRegistry(self._client, reference.model)
        try:
            before = registry.aliases.get(CHAMPION)
            registry.point(CHAMPION, version)
        except Exception as error:
            raise RegistryError(f"{reference}: can't be promoted: {reason_of(error)}") from error
        return before, version

    def _version(self, reference: Reference) -> Any:
        from mlflow.exceptions import MlflowException

        try:
            model = self._client.get_registered_model(reference.model)
            version = reference.version or dict(model.aliases).get(reference.alias)
            if version is None:
                there = ", ".join(sorted(model.aliases)) or "none"
                raise RegistryError(
                    f"{reference}: {reference.model} has no alias {reference.alias}; there are: "
                    f"{there}"
                )
            return self._client.get_model_version(reference.model, str(version))
        except MlflowException as error:
            raise self._not_there(reference, error) from error

    def _not_there(self, reference: Reference, error: Exception) -> RegistryError:
        """Return the error of a missing model or version, with those that exist."""
        try:
            models = [model.name for model in self._client.search_registered_models()]
            if reference.model not in models:
                there = ", ".join(models[:_LISTED]) or "none"
                return RegistryError(
                    f"{reference}: MLflow at {self._store.uri} has no model {reference.model}; "
                    f"there are: {there}"
                )
            found = self._client.search_model_versions(f"name = '{reference.model}'")
            versions = sorted((int(item.version) for item in found), reverse=True)
            if reference.version is not None and int(reference.version) not in versions:
                there = ", ".join(map(str, versions[:_LISTED])) or "none"
                return RegistryError(
                    f"{reference}: {reference.model} has no version {reference.version}; there "
                    f"are: {there}"
                )
        except Exception as another:
            return RegistryError(f"{reference}: {reason_of(another)}")
        return RegistryError(f"{reference}: {reason_of(error)}")

    def _download(self, reference: Reference, source: str) -> str:
        place = urlparse(source)
        if place.scheme == "file":
            return read_text(Path(unquote(place.path)))
        from mlflow.artifacts import download_artifacts

        with tempfile.TemporaryDirectory() as folder:
            try:
                path = download_artifacts(
                    artifact_uri=source, dst_path=folder, tracking_uri=self._store.uri
                )
            except Exception as error:
                raise RegistryError(
                    f"{reference}: {source} can't be fetched: {reason_of(error)}"
                ) from error
            return read_text(Path(path))


def read_from(store: MlflowStore) -> RegistryReader:
    """Make `registry:` refer to policies of this store from now on."""
    reader = RegistryReader(store)
    add_source(SCHEME, reader.text)
    return reader


def refuse_missing(store: MlflowStore) -> None:
    """Refuse an SQLite file without MLflow's tables, in which MLflow would create them.

    Raises:
        RegistryError: the store is such a file, or the file is missing.
    """
    path = sqlite_file(store.uri)
    if path is None:
        return
    if not path.is_file():
        wrong = f"there is no MLflow store {path}"
    elif not _is_of_mlflow(path):
        wrong = f"{path} is not an MLflow store"
    else:
        return
    raise RegistryError(
        f"{wrong}; create one with heddle train registered_model=NAME, or set another with "
        "mlflow.uri=, --uri or MLFLOW_TRACKING_URI"
    )


def _is_of_mlflow(path: Path) -> bool:
    """Return whether the file is an SQLite database with MLflow's tables.

    A locked or unreadable file counts as one: MLflow reports the error.
    """
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return "alembic_version" in {name for (name,) in tables}
    except sqlite3.OperationalError:
        return True
    except sqlite3.DatabaseError:
        return False
