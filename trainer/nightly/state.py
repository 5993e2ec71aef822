"""The store: the folder that persists between the nights.

    policy.json            the published policy, with its provenance
    history/000007.json    this policy and earlier ones
    nights.jsonl           the decisions, one line per night
    rollback.json          a rollback in progress
    nights/2026-11-21/     a night: night.json, page.md, the candidate, its training

The published policy is one file, replaced by one rename: at any time it is the old policy or the
new one. Its provenance has the conditions of its training and the policy that it replaced.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from policies import PolicyDocument, PolicyFileError, digest, load, save
from policies.errors import write_failure_reason
from trainer.checkpoint import WritingError, remove_unfinished
from trainer.nightly.conditions import Conditions
from trainer.nightly.decision import Target
from trainer.nightly.errors import StateError
from trainer.run_folder import RunFolder

PROVENANCE = "nightly"
"""The key of this package in a policy's provenance."""

_NUMBERED = re.compile(r"(\d{6,})\.json")


@dataclass(frozen=True)
class Publication:
    """A policy that is or was published.

    Attributes:
        document: the policy.
        number: from 1; 0 if it was put in place by other means.
        replaces: the number of the policy before; None if there was none.
        conditions: the conditions of its training, if stated.
    """

    document: PolicyDocument
    number: int = 0
    replaces: int | None = None
    conditions: Conditions | None = None

    @property
    def target(self) -> Target:
        """What the policy was trained for."""
        return Target(self.conditions, self.document.signature)

    @property
    def digest(self) -> str:
        """A digest of its content."""
        return digest(self.document)

    @property
    def words(self) -> str:
        """The policy's name and training day, for display."""
        of = f", trained for {self.conditions.day}" if self.conditions else ""
        return f"{self.document.name}{of}"


@dataclass(frozen=True)
class NightFolder:
    """The files of a night.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def record(self) -> Path:
        """The record: the decision and all figures."""
        return self.path / "night.json"

    @property
    def page(self) -> Path:
        """The page about the night."""
        return self.path / "page.md"

    @property
    def candidate(self) -> Path:
        """The candidate."""
        return self.path / "candidate.json"

    @property
    def training(self) -> RunFolder:
        """The training's run folder."""
        return RunFolder(self.path / "training")


@dataclass(frozen=True)
class StateFolder:
    """The store's folder.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def policy(self) -> Path:
        """The published policy."""
        return self.path / "policy.json"

    @property
    def log(self) -> Path:
        """The log: the decisions, one line per night."""
        return self.path / "nights.jsonl"

    @property
    def rollback(self) -> Path:
        """The plan of a rollback in progress; otherwise it does not exist."""
        return self.path / "rollback.json"

    def night(self, day: date) -> NightFolder:
        """Return the folder of the night after a day."""
        return NightFolder(self.path / "nights" / f"{day}")

    def days(self) -> Iterator[date]:
        """Yield the days of the kept nights."""
        for path in self.night(date.min).path.parent.iterdir():
            with contextlib.suppress(ValueError):
                yield date.fromisoformat(path.name)

    def published(self, number: int) -> Path:
        """Return the path of the policy with that number."""
        return self.path / "history" / f"{number:06}.json"

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the kept policies."""
        for path in self.published(0).parent.glob("*.json"):
            if match := _NUMBERED.fullmatch(path.name):
                yield int(match[1])

    def make(self) -> None:
        """Create missing folders.

        Raises:
            StateError: a file has the name of a folder.
            WritingError: a folder can't be created.
        """
        try:
            for folder in (self.published(0).parent, self.path / "nights"):
                folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise StateError(
                f"state={self.path}: there is a file in the place of a folder; name a folder"
            ) from error
        except OSError as error:
            raise WritingError(
                f"state={self.path}: can't be created: {write_failure_reason(error)}"
            ) from error

    def remove_unfinished(self, day: date) -> None:
        """Remove partial files of a killed process; the caller holds the store."""
        for folder in (self.path, self.published(0).parent, self.night(day).path):
            with contextlib.suppress(OSError):  # it only takes disk space
                remove_unfinished(folder)

    def lineage(self) -> Iterator[Publication]:
        """Yield the published policy, the one that it replaced, and so on, up to a missing one.

        Raises:
            StateError: the published policy is damaged.
        """
        at = self.served()
        while at is not None:
            yield at
            # An older policy has a lower number; stop if a file claims otherwise.
            if at.replaces is None or at.replaces >= at.number:
                return
            at = self.saved_publication(at.replaces)

    def saved_publication(self, number: int) -> Publication | None:
        """Return the policy with that number; None if it is missing or damaged."""
        path = self.published(number)
        try:
            return read_publication(path) if path.exists() else None
        except StateError:
            return None

    def served(self) -> Publication | None:
        """Return the published policy; None if there is none.

        Raises:
            StateError: its file is damaged.
        """
        return read_publication(self.policy) if self.policy.exists() else None


def read_publication(path: Path) -> Publication:
    """Read a published policy.

    Raises:
        StateError: the file is damaged.
    """
    try:
        document = load(path)
        found: Any = document.provenance.get(PROVENANCE)
        if found is None:
            return Publication(document)
        replaces = found["replaces"]
        return Publication(
            document,
            int(found["number"]),
            None if replaces is None else int(replaces),
            Conditions.from_dict(found["trained_for"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        words = (
            str(error)
            if isinstance(error, PolicyFileError)
            else (f"{path}: its provenance is not written by heddle nightly: {error!r}")
        )
        raise StateError(
            f"{words}\nRestore a policy of {path.parent}/history, or remove the file to start over"
        ) from None


def write_policy(document: PolicyDocument, path: Path) -> None:
    """Replace a policy file.

    Raises:
        WritingError: it can't be written; the old file stays.
    """
    try:
        save(document, path)
    except PolicyFileError as error:
        raise WritingError(str(error)) from error
