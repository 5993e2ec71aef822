"""Policies in MLflow's model registry: versions of a registered model, named by alias or number.

`registry:NAME@ALIAS` and `registry:NAME/VERSION` name one wherever a policy is named. A version's
tags say what it is: digests of the policy and of the workload's signature, workload, machine and
scores. `heddle train` and `heddle nightly` register what they learn; neither depends on it.
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
from policies.sources import add_source
from policies.training_places import training_places
from trainer.mlflow_store import MlflowStore, reason_of, sqlite_file

SCHEME = "registry"

CHAMPION = "champion"
"""The alias of the version to use."""

CANDIDATE = "candidate"
"""The alias of the version that was registered last."""

DIGEST = "heddle.digest"
"""A version's tag: the digest of its file (`policies.digest`), which has a date and scores."""

POLICY = "heddle.policy"
"""A version's tag: the digest of what its policy does (`policies.policy_digest`)."""

RUN = "heddle.run"
"""A version's tag: the run that learned its policy."""

SIGNATURE = "heddle.signature"
"""A version's tag: the digest of the workload's signature; a policy fits workloads of this one."""

_NOT_IN_KEYS = re.compile(r"[^\w.\-]")
_LISTED = 10


class RegistryError(PolicyFileError):
    """A policy that the registry can't give; the message says which part is wrong, and the cure."""


@dataclass(frozen=True)
class Reference:
    """A version of a registered model, as it is typed behind `registry:`.

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
            f"{SCHEME}:{text}: names no version; write {SCHEME}:{name}@{CHAMPION}, or the number "
            f"of a version, {SCHEME}:{name}/1"
        )

    def __str__(self) -> str:
        rest = f"@{self.alias}" if self.alias is not None else f"/{self.version}"
        return f"{SCHEME}:{self.model}{rest}"


@dataclass(frozen=True)
class Registered:
    """A version that was registered.

    Attributes:
        model: the registered model's name.
        version: its number.
        aliases: those that point to it now.
    """

    model: str
    version: str
    aliases: list[str]


def tags_of(document: PolicyDocument) -> dict[str, str]:
    """What a version's tags say of its policy, out of its provenance."""
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
    for key in ("search", "objective", "run", "version"):
        if key in known:
            tags[f"heddle.{key}"] = str(known[key])
    for field, key in (("scores", "score"), ("scores_on_threads", "score_on_threads")):
        scores = known.get(field)
        for name, score in scores.items() if isinstance(scores, Mapping) else ():
            tags[f"heddle.{key}.{_NOT_IN_KEYS.sub('_', str(name))}"[:250]] = str(score)
    return tags


def signature_digest(signature: Signature) -> str:
    """Names a signature's content."""
    text = json.dumps(signature.to_dict(), ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def refuse_bad_model(model: str | None) -> None:
    """Find a name that could not be referred to before hours of training.

    Raises:
        ValueError: it is one.
    """
    if model is not None and (
        not re.fullmatch(r"[\w.\- ]{1,100}", model) or set(model) <= {".", " "}
    ):
        raise ValueError(
            f"registered_model={model[:100]}: must be of letters, digits, spaces, _ - and ., at "
            "most 100 of them, such as tpcc-1"
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
        """Make the registered model, if it is not there."""
        from mlflow.exceptions import MlflowException

        try:
            self._client.create_registered_model(self._model)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise

    @property
    def aliases(self) -> dict[str, str]:
        """The model's aliases, and the versions they point to."""
        found = self._client.get_registered_model(self._model).aliases
        return {str(alias): str(version) for alias, version in dict(found).items()}

    def version_of(self, policy_digest: str) -> str | None:
        """The version that holds this very policy; None if none does."""
        for found in self._versions():
            if found.tags.get(DIGEST) == policy_digest:
                return str(found.version)
        return None

    def version_like(self, tags: Mapping[str, str]) -> str | None:
        """The version whose file is that of these tags, or else whose run learned the same policy.

        A resumed run writes its file anew, with another date and other scores.
        """
        versions = self._versions()
        for same in ((DIGEST,), (RUN, POLICY)):
            for found in versions:
                if all(key in tags and found.tags.get(key) == tags[key] for key in same):
                    return str(found.version)
        return None

    def is_only(self, version: str) -> bool:
        """Whether the model has no other version."""
        return [str(found.version) for found in self._versions()] == [version]

    def _versions(self) -> list[Any]:
        return list(self._client.search_model_versions(f"name = '{self._model}'"))

    def register(
        self, source: str, tags: Mapping[str, str], words: str, run_id: str | None = None
    ) -> str:
        """Make a version.

        Args:
            source: URI of the policy's file.
            tags: of the version.
            words: its description.
            run_id: the MLflow run that made it.

        Returns:
            Its number.
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
    """Register what a training learned: the candidate, and the champion if it is the first.

    The file is kept with the MLflow run, under a name of its own, so that it stays as it is when
    the run is resumed. What one run learned is not registered twice.

    Raises:
        Exception: any, as MLflow and its libraries raise them.
    """
    registry = PolicyRegistry(client, model)
    registry.create()
    tags = tags_of(document)
    version = registry.version_like(tags)
    if version is None:
        place = f"registered/{tags[DIGEST]}.json"
        client.log_text(run_id, to_json(document), place)
        source = f"{client.get_run(run_id).info.artifact_uri.rstrip('/')}/{place}"
        version = registry.register(source, tags, document.name, run_id)
    registry.point(CANDIDATE, version)
    if CHAMPION not in registry.aliases and registry.is_only(version):
        registry.point(CHAMPION, version)
    pointing = [alias for alias, at in registry.aliases.items() if at == version]
    return Registered(model, version, sorted(pointing))


def default_store(uri: str | None = None) -> MlflowStore:
    """The store that is read where none is named: MLflow's variables, or the file in `runs`."""
    known = ("MLFLOW_REGISTRY_URI", "MLFLOW_TRACKING_URI")
    named = uri or next((os.environ[name] for name in known if os.environ.get(name)), None)
    return MlflowStore(named, Path("runs"))


class RegistryReader:
    """Reads policies out of a store's registry; of each reference what it first found.

    Args:
        store: whose registry; it is not made where there is none.
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
        """The policy file's text of a version; what a `policies.sources.Reader` is.

        Raises:
            RegistryError: there is no such store, model, alias or version, or its file is not what
                was registered.
        """
        reference = Reference.parse(typed)
        found = self._version(reference)
        text = self._download(reference, str(found.source))
        wanted = found.tags.get(DIGEST)
        if wanted is not None and digest(from_json(text, str(reference), check=False)) != wanted:
            raise RegistryError(
                f"{reference}: {found.source} is no longer the policy that was registered as "
                f"version {found.version}; name another version"
            )
        return text

    def by_version(self, typed: str) -> str:
        """The same, named by the number of its version: an alias may point elsewhere tomorrow.

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
            The version that was champion before, and the one that is.

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
        """Which of the model and the version is not there, and what is."""
        try:
            models = [one.name for one in self._client.search_registered_models()]
            if reference.model not in models:
                there = ", ".join(models[:_LISTED]) or "none"
                return RegistryError(
                    f"{reference}: MLflow at {self._store.uri} has no model {reference.model}; "
                    f"there are: {there}"
                )
            found = self._client.search_model_versions(f"name = '{reference.model}'")
            versions = sorted((int(one.version) for one in found), reverse=True)
            if reference.version is not None and int(reference.version) not in versions:
                there = ", ".join(map(str, versions[:_LISTED])) or "none"
                return RegistryError(
                    f"{reference}: {reference.model} has no version {reference.version}; there "
                    f"are: {there}"
                )
        except Exception as another:  # the first error says it as well
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
    """Let `registry:` name policies of this store from now on, and no longer of another."""
    reader = RegistryReader(store)
    add_source(SCHEME, reader.text)
    return reader


def refuse_missing(store: MlflowStore) -> None:
    """MLflow would make its tables in an SQLite file that has none of them, or is not there.

    Raises:
        RegistryError: the store is such a file.
    """
    path = sqlite_file(store.uri)
    if path is None:
        return
    if not path.is_file():
        wrong = f"there is no MLflow store {path}"
    elif not _is_of_mlflow(path):
        wrong = f"{path} is no MLflow store"
    else:
        return
    raise RegistryError(
        f"{wrong}; heddle train registered_model=NAME makes one, and "
        "mlflow.uri=, --uri or MLFLOW_TRACKING_URI names another, as the command has it"
    )


def _is_of_mlflow(path: Path) -> bool:
    """Whether the file is an SQLite database in which MLflow has made its tables.

    One that is locked or can't be read may be: MLflow will say what is wrong with it.
    """
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return "alembic_version" in {name for (name,) in tables}
    except sqlite3.OperationalError:
        return True
    except sqlite3.DatabaseError:
        return False
