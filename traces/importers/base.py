"""The interface of importers."""

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
"""The number of bad rows that are named for each reason."""


@dataclass
class LeftOut:
    """The rows that an import left out or guessed, counted by reason, with examples.

    Attributes:
        strict: whether the first bad or guessed row is an error.
        counts: rows that are not in the trace, including those that are no transactions by nature.
        guessed: rows in the trace for which something is uncertain.
        named: by reason, the locations of the first rows and what is wrong with them.
    """

    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    guessed: Counter[str] = field(default_factory=Counter)
    named: dict[str, list[str]] = field(default_factory=dict)

    def skip(self, reason: str, count: int, example: str = "") -> None:
        """Count rows that are valid but no transactions, such as views.

        Args:
            reason: the reason, such as `views, which only read`.
            count: the number of rows.
            example: one of them, as `FILE:LINE: description`; only the first is kept.
        """
        if count:
            self.counts[reason] += count
            if example:
                self.named.setdefault(reason, [example])

    def bad(self, reason: str, count: int, examples: list[str]) -> None:
        """Count rows that can't be used.

        Args:
            reason: the reason, such as `no user`.
            count: the number of rows.
            examples: the first of them, each as `FILE:LINE: description`.

        Raises:
            TraceError: bad rows are errors; the message is the first example.
        """
        self._count(self.counts, reason, count, examples)

    def guess(self, reason: str, count: int, examples: list[str]) -> None:
        """Count rows that are used although the log leaves something uncertain.

        Args:
            reason: what is guessed and how, such as `time that the zone has twice: the second`.
            count: the number of rows.
            examples: the first of them, each as `FILE:LINE: guess`.

        Raises:
            TraceError: guesses are errors; the message is the first example.
        """
        self._count(self.guessed, reason, count, examples)

    def _count(self, counts: Counter[str], reason: str, count: int, examples: list[str]) -> None:
        if not count:
            return
        if self.strict:
            cure = "import the valid rows" if counts is self.counts else "accept the guess"
            raise TraceError(f"{examples[0]}; correct it, or leave out --strict to {cure}")
        counts[reason] += count
        named = self.named.setdefault(reason, [])
        named += examples[: NAMED_MAX - len(named)]


class Importer(ABC):
    """Converts one kind of log into transactions.

    Args:
        sources: the files.
        left_out: counts rows that do not become transactions.

    Attributes:
        bytes_total: the size of the input; None if it is unknown.
    """

    bytes_total: int | None = None

    def __init__(self, sources: tuple[Path, ...], left_out: LeftOut) -> None:
        self.sources = sources
        self.left_out = left_out

    @property
    def bytes_read(self) -> int:
        """The number of bytes of `bytes_total` that were read."""
        return 0

    @abstractmethod
    def tables(self) -> Generator[pa.Table, None, None]:
        """Yield tables of the schema `traces.schema.TRANSACTION`, some ten thousand rows each.

        Transactions may come in any order, each with a unique id. There may be none.

        Raises:
            TraceError: a file can't be read, or is not of this format.
        """

    @abstractmethod
    def types(self) -> tuple[TransactionType, ...]:
        """The transaction types and their accesses; valid after the last table."""


@dataclass(frozen=True)
class Format:
    """A format that can be imported.

    Attributes:
        summary: a description in one line.
        importer: creates the importer from the sources, `LeftOut` and its own options by name.
        options: the options of `heddle trace import` that only this format has.
        hint: returns advice about the names of the types, or None.
    """

    summary: str
    importer: Callable[..., Importer]
    options: tuple[click.Option, ...] = ()
    hint: Callable[[Collection[str]], str | None] = lambda names: None

    def open(self, sources: tuple[Path, ...], left_out: LeftOut, **options: Any) -> Importer:
        """Create the importer.

        Raises:
            TraceError: an option or a source is invalid.
        """
        return self.importer(sources, left_out, **options)
