"""Parses PostgreSQL's csvlog into records and damaged parts, each with its line."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from traces.importers.byte_order import UTF8

RECORD_BYTES_MAX = 16 << 20
"""The maximum length of a record; a longer one lacks its closing quote."""

SHOWN_CHARACTERS = 200
"""The maximum length of damaged text in messages."""

COLUMNS = (23, 24, 26)
"""Columns of a record by version: up to 12, from 13 (backend_type), from 14 (query_id)."""

START = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [^\s,\"]+,")
"""The start of a record: its time with the zone."""


class Record(NamedTuple):
    r"""A log entry.

    Attributes:
        line: its first line in the file, from 1.
        fields: its columns as text; at least as many as version 11 writes.
        exact: whether its bytes were valid in the encoding; others are written as `\xNN`.
        numbers: how many of the session's line numbers it uses; in text form each line has one.
        unended: whether it is the last record of a file and lacks its line break.
    """

    line: int
    fields: list[str]
    exact: bool = True
    numbers: int = 1
    unended: bool = False


@dataclass(frozen=True, slots=True)
class Damage:
    """Lines that are no log entry.

    Attributes:
        line: the first of them, from 1.
        reason: what is wrong with them.
        text: their start.
    """

    line: int
    reason: str
    text: str


class _Lines:
    """Lines with their numbers; lines can be put back."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self._returned: deque[bytes] = deque()
        self.number = 0

    def next(self) -> bytes | None:
        self.number += 1
        if self._returned:
            return self._returned.popleft()
        return next(self._lines, None)

    def hand_back(self, lines: list[bytes]) -> None:
        self._returned.extendleft(reversed(lines))
        self.number -= len(lines)


csv.field_size_limit(RECORD_BYTES_MAX + 1)


def read_records(lines: Iterable[bytes], encoding: str = "utf-8") -> Iterator[Record | Damage]:
    """Read a csvlog.

    A record ends with the line that closes its last quote. A malformed record, after a crash or a
    truncation, is reported as damage; reading resumes at the next start of a record, so that only
    the damaged record is lost.

    Args:
        lines: the lines of the file, as bytes, with their ends.
        encoding: the server's encoding.
    """
    source = _Lines(lines)
    parser = _Parser()
    width = 0
    while (whole := source.next()) is not None:
        number = source.number
        # Concatenated logs contain byte order marks between them.
        whole = whole.removeprefix(UTF8)
        if whole.count(b'"') & 1:
            whole = _until_closed(source, whole)
        exact = True
        try:
            text = whole.decode(encoding)
        except UnicodeDecodeError:
            text, exact = whole.decode(encoding, errors="backslashreplace"), False
        fields = parser.fields(text)
        # The last record may lack its line break; it is complete if it has the usual columns.
        ended = whole[-1:] == b"\n" or (width in (0, len(fields)) and not START.search(whole, 1))
        if len(fields) in COLUMNS and ended and START.match(whole):
            width = len(fields)
            yield Record(number, fields, exact)
        elif fields:
            source.hand_back(_from_next_start(whole))
            yield Damage(number, _reason(whole, fields), text[:SHOWN_CHARACTERS])


class _Parser:
    """A csv.reader for one record at a time."""

    def __init__(self) -> None:
        self._next: list[str] = []
        self._reader = csv.reader(iter(self._next.pop, None))

    def fields(self, text: str) -> list[str]:
        self._next.append(text)
        try:
            return next(self._reader)
        except (csv.Error, IndexError):  # the field is too long, or a quote is never closed
            self._next = []
            self._reader = csv.reader(iter(self._next.pop, None))
            return [text]


def _until_closed(source: _Lines, first: bytes) -> bytes:
    held = [first]
    size = len(first)
    while size <= RECORD_BYTES_MAX:
        line = source.next()
        if line is None:
            break
        held.append(line)
        size += len(line)
        if line.count(b'"') & 1:
            break
    return b"".join(held)


def _from_next_start(damaged: bytes) -> list[bytes]:
    """Return the lines from the next start of a record, which may be within the damaged line."""
    start = START.search(damaged, 1)
    return re.findall(rb"[^\n]*\n|[^\n]+", damaged[start.start() :]) if start else []


def _reason(whole: bytes, fields: list[str]) -> str:
    if not START.match(whole):
        return "no entry of a csvlog"
    if whole.count(b'"') & 1 or whole[-1:] != b"\n" or START.search(whole, 1):
        return "log entry cut short"
    return f"log entry of an unknown form ({len(fields)} columns)"
