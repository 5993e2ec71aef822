"""The folder that outlives the nights.

    policy.json            the policy that is served; all that is known of it is in it
    history/000007.json    those that were served before, and it
    nights.jsonl           what was decided, a line a night
    rollback.json          a step back that is being made
    nights/2026-11-21/     a night: night.json, page.md, the candidate, its training

The policy that is served is one file, replaced by one rename: whatever happens, there is the one
before or the one after. Its provenance says what it was trained for and which one it replaced.
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
"""Where a policy's provenance says what this package knows of it."""

_NUMBERED = re.compile(r"(\d{6,})\.json")


@dataclass(frozen=True)
class Publication:
    """A policy that is or was served.

    Attributes:
        document: the policy.
        number: from 1; 0 if it was put there by other means.
        replaces: the number of the one before; None if there was none.
        conditions: that it was trained for, if it says so.
    """

    document: PolicyDocument
    number: int = 0
    replaces: int | None = None
    conditions: Conditions | None = None

    @property
    def target(self) -> Target:
        """What it was trained for."""
        return Target(self.conditions, self.document.signature)

    @property
    def digest(self) -> str:
        """Names its content."""
        return digest(self.document)

    @property
    def words(self) -> str:
        """How people are told of it."""
        of = f", trained for {self.conditions.day}" if self.conditions else ""
        return f"{self.document.name}{of}"


@dataclass(frozen=True)
class NightFolder:
    """One night's files.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def record(self) -> Path:
        """What was decided, and all its numbers."""
        return self.path / "night.json"

    @property
    def page(self) -> Path:
        """The same for people."""
        return self.path / "page.md"

    @property
    def candidate(self) -> Path:
        """The policy that the night trained."""
        return self.path / "candidate.json"

    @property
    def training(self) -> RunFolder:
        """Its training."""
        return RunFolder(self.path / "training")


@dataclass(frozen=True)
class StateFolder:
    """All of it.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def policy(self) -> Path:
        """The policy that is served."""
        return self.path / "policy.json"

    @property
    def log(self) -> Path:
        """What was decided, a line a night."""
        return self.path / "nights.jsonl"

    @property
    def rollback(self) -> Path:
        """A step back that is being made; not there otherwise."""
        return self.path / "rollback.json"

    def night(self, day: date) -> NightFolder:
        """The night after a day."""
        return NightFolder(self.path / "nights" / f"{day}")

    def days(self) -> Iterator[date]:
        """Of the nights that are kept."""
        for path in self.night(date.min).path.parent.iterdir():
            with contextlib.suppress(ValueError):
                yield date.fromisoformat(path.name)

    def published(self, number: int) -> Path:
        """The policy of that number."""
        return self.path / "history" / f"{number:06}.json"

    def numbers(self) -> Iterator[int]:
        """Of the policies that are kept."""
        for path in self.published(0).parent.glob("*.json"):
            if match := _NUMBERED.fullmatch(path.name):
                yield int(match[1])

    def make(self) -> None:
        """Make what is not there.

        Raises:
            StateError: there is a file in the place of a folder.
            WritingError: it can't be made.
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
                f"state={self.path}: no folder can be made there: {write_failure_reason(error)}"
            ) from error

    def remove_unfinished(self, day: date) -> None:
        """Remove what a process that was killed in the middle of a write left; hold the folder."""
        for folder in (self.path, self.published(0).parent, self.night(day).path):
            with contextlib.suppress(OSError):  # it takes room, and is in nobody's way
                remove_unfinished(folder)

    def lineage(self) -> Iterator[Publication]:
        """What is served, the one that it replaced, and so on, as far as they are kept and whole.

        Raises:
            StateError: the policy that is served is damaged.
        """
        at = self.served()
        while at is not None:
            yield at
            # None that is older has a higher number, whoever wrote these files.
            if at.replaces is None or at.replaces >= at.number:
                return
            at = self.saved_publication(at.replaces)

    def saved_publication(self, number: int) -> Publication | None:
        """The policy of that number; None if it is no longer there, or damaged."""
        path = self.published(number)
        try:
            return read_publication(path) if path.exists() else None
        except StateError:
            return None

    def served(self) -> Publication | None:
        """The policy that is served; None if none is.

        Raises:
            StateError: its file is damaged.
        """
        return read_publication(self.policy) if self.policy.exists() else None


def read_publication(path: Path) -> Publication:
    """A published policy.

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
            else (f"{path}: its provenance is not what heddle nightly writes: {error!r}")
        )
        raise StateError(
            f"{words}\nPut one of {path.parent}/history in its place, or remove it to begin anew"
        ) from None


def write_policy(document: PolicyDocument, path: Path) -> None:
    """Write a policy in place of another one.

    Raises:
        WritingError: it can't be written; what was there is as it was.
    """
    try:
        save(document, path)
    except PolicyFileError as error:
        raise WritingError(str(error)) from error
