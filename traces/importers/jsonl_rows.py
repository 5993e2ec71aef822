"""Streams JSON logs with an object in each line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from traces.errors import shown
from traces.importers.base import LeftOut
from traces.importers.byte_order import UTF8
from traces.importers.log_rows import LogRows
from traces.importers.numbers_as_text import DIGITS_MAX, scientific
from traces.importers.numbers_as_text import number as plain_number
from traces.importers.source_file import SourceFile

HALF = "half a character of UTF-16: as its escape"
TOO_LONG = "number of too many digits: compared as it is written"
TWICE = "member that its object has twice: the last is taken"

LINE_BYTES_MAX = 4 << 20
"""The maximum length of a line."""

BATCH_LINES = 1 << 15

_LONG = 10**DIGITS_MAX
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*(:)?', re.DOTALL)
_NESTED = (dict, list)
_CONSTANTS = {"Infinity": "Infinity", "-Infinity": "-Infinity"}
"""Python writes NaN for a missing number, which becomes null."""


def jsonl_rows(file: SourceFile, columns: Sequence[str], left_out: LeftOut) -> Iterator[LogRows]:
    """Stream members of the objects of a file as text; a missing member is null.

    A dot in a column's name selects a member of an object: `user.id`. Lines that are no object, or
    where a member is an object or a list, are left out as bad; empty lines are ignored.

    Raises:
        TraceError: the file can't be read, or a line is too long.
    """
    lines = enumerate(_lines(file), start=1)
    # A name whose text occurs once in a line can't be a duplicate member.
    written = [
        json.dumps(column.rsplit(".", 1)[-1], ensure_ascii=False).encode() for column in columns
    ]
    while some := list(islice(lines, BATCH_LINES)):
        rows, numbers = [], []
        for number, line in some:
            place = f"{file.path.name}:{number}"
            row = _row(line, columns, place, left_out)
            if row is not None and (
                any(line.count(name) > 1 for name in written) or _has_escaped_name(line)
            ):
                _guess_twice(line, columns, place, left_out)
            if row is not None:
                rows.append(row)
                numbers.append(number)
        batch = pa.RecordBatch.from_arrays(
            [pa.array([row[place] for row in rows], pa.string()) for place in range(len(columns))],
            names=list(columns),
        )
        yield LogRows(batch, _places(file.path.name, numbers))


def _lines(file: SourceFile) -> Iterator[bytes]:
    while line := file.stream.readline(LINE_BYTES_MAX + 1):
        if len(line) > LINE_BYTES_MAX:
            raise file.bad(f"a line is longer than {LINE_BYTES_MAX >> 20} MiB")
        yield line


def _row(
    line: bytes, columns: Sequence[str], place: str, left_out: LeftOut
) -> list[str | None] | None:
    if not line.strip():
        return None
    try:
        # Concatenated logs contain byte order marks between them.
        text = line.removeprefix(UTF8).decode()
        document = json.loads(text, parse_float=_number, parse_constant=_CONSTANTS.get)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        left_out.bad("no JSON object", 1, [f"{place}: {shown(line.decode(errors='replace'))}"])
        return None
    values = [_member(document, column) for column in columns]
    for column, value in zip(columns, values, strict=True):
        if isinstance(value, _NESTED):
            words = f"{place}: {column} is {shown(value)}"
            left_out.bad(f"{column} is no single value", 1, [words])
            return None
    return [
        _text(value, f"{place}: {column}", left_out)
        for column, value in zip(columns, values, strict=True)
    ]


def _has_escaped_name(line: bytes) -> bool:
    r"""Whether the name of a member contains an escape, such as `r\u006fw`."""
    return b"\\" in line and any(found[2] and b"\\" in found[1] for found in _STRING.finditer(line))


def _guess_twice(line: bytes, columns: Sequence[str], place: str, left_out: LeftOut) -> None:
    """Count a line with a wanted member that occurs twice in one object."""
    names = {step for column in columns for step in (column, *column.split("."))}
    twice: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        members = [name for name, _ in pairs if name in names]
        twice.extend(name for name in set(members) if members.count(name) > 1)

    json.loads(line.removeprefix(UTF8), object_pairs_hook=note)
    if twice:
        left_out.guess(TWICE, 1, [f"{place}: {sorted(twice)[0]} occurs twice"])


def _member(document: dict[str, Any], column: str) -> Any:
    if column in document:
        return document[column]
    value: Any = document
    for step in column.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _number(text: str) -> str:
    """Return a number with a point or an exponent as exact text: 7.0 becomes 7."""
    try:
        return plain_number(text)
    except ValueError:
        return _Long(text)


class _Long(str):
    """A number with very many digits, as it is written."""


def _text(value: Any, place: str, left_out: LeftOut) -> str | None:
    if value is None:
        return None
    if type(value) is int:
        return str(value) if abs(value) < _LONG else _long(_Long(value), place, left_out)
    if not isinstance(value, str):
        return json.dumps(value)
    if type(value) is _Long:
        return _long(value, place, left_out)
    if value.isascii():
        return value
    try:
        return value.encode().decode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON's escapes permit
        escaped = value.encode(errors="backslashreplace").decode()
        left_out.guess(HALF, 1, [f"{place} is {shown(escaped)}"])
        return escaped


def _long(text: _Long, place: str, left_out: LeftOut) -> str:
    try:
        return scientific(text)
    except ValueError:
        left_out.guess(TOO_LONG, 1, [f"{place} is {shown(text)}"])
        return str(text)


def _places(name: str, numbers: list[int]) -> Any:
    return lambda row: f"{name}:{numbers[row]}"
