"""What an importer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from traces.errors import TraceError
from traces.manifest import TransactionType

NAMED_MAX = 5
"""So many of the bad rows are named, of each reason."""


@dataclass
class LeftOut:
    """What an import left out of a log, and what it guessed: rows by reason, the first few named.

    Attributes:
        strict: whether the first bad or guessed row is an error.
        counts: rows that are not in the trace, those that are no transactions by their nature too.
        guessed: rows that are in the trace, and of which something is not certain.
        named: by reason, where the first of these rows are and what is wrong with them.
    """

    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    guessed: Counter[str] = field(default_factory=Counter)
    named: dict[str, list[str]] = field(default_factory=dict)

    def skip(self, reason: str, count: int, example: str = "") -> None:
        """Rows that are fine and no transactions, such as views.

        Args:
            reason: such as `views, which only read`.
            count: how many.
            example: one of them, as `FILE:LINE: what it is`; only the first is kept.
        """
        if count:
            self.counts[reason] += count
            if example:
                self.named.setdefault(reason, [example])

    def bad(self, reason: str, count: int, examples: list[str]) -> None:
        """Rows that can't be used.

        Args:
            reason: such as `no user`.
            count: how many.
            examples: the first of them, each as `FILE:LINE: what is wrong`.

        Raises:
            TraceError: the first one, if bad rows are errors.
        """
        self._count(self.counts, reason, count, examples)

    def guess(self, reason: str, count: int, examples: list[str]) -> None:
        """Rows that are used, with something that the log does not say for certain.

        Args:
            reason: what is guessed and how, such as `time that the zone has twice: the second`.
            count: how many.
            examples: the first of them, each as `FILE:LINE: what is guessed`.

        Raises:
            TraceError: the first one, if guesses are errors.
        """
        self._count(self.guessed, reason, count, examples)

    def _count(self, counts: Counter[str], reason: str, count: int, examples: list[str]) -> None:
        if not count:
            return
        if self.strict:
            cure = "import what is right" if counts is self.counts else "accept the guess"
            raise TraceError(f"{examples[0]}; correct it, or leave out --strict to {cure}")
        counts[reason] += count
        named = self.named.setdefault(reason, [])
        named += examples[: NAMED_MAX - len(named)]


class Importer(ABC):
    """Makes transactions of one kind of log.

    Args:
        sources: the files that were named.
        left_out: where to count what does not become a transaction.

    Attributes:
        bytes_total: how much there is to read; None if that is not known.
    """

    bytes_total: int | None = None

    def __init__(self, sources: tuple[Path, ...], left_out: LeftOut) -> None:
        self.sources = sources
        self.left_out = left_out

    @property
    def bytes_read(self) -> int:
        """How much of `bytes_total` was read."""
        return 0

    @abstractmethod
    def tables(self) -> Generator[pa.Table, None, None]:
        """Transactions in the schema `traces.schema.TRANSACTION`, some ten thousand at a time.

        In any order, each with an id that no other has. May come to nothing.

        Raises:
            TraceError: a file can't be read, or is not of this format.
        """

    @abstractmethod
    def types(self) -> tuple[TransactionType, ...]:
        """The transaction types and their accesses; asked for after the last of the tables."""


@dataclass(frozen=True)
class Format:
    """A format that can be imported.

    Attributes:
        summary: what it is, in a line.
        importer: makes the importer from the sources, `LeftOut` and its own options by name.
        options: the options of the command `heddle trace import` that only this format has.
        hint: what to do about the names of the types that were found; None where they are fine.
    """

    summary: str
    importer: Callable[..., Importer]
    options: tuple[click.Option, ...] = ()
    hint: Callable[[Collection[str]], str | None] = lambda names: None

    def open(self, sources: tuple[Path, ...], left_out: LeftOut, **options: Any) -> Importer:
        """Make the importer.

        Raises:
            TraceError: an option or a source is wrong.
        """
        return self.importer(sources, left_out, **options)
