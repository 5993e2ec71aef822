"""JSON logs with an object a line, streamed."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from traces.errors import shown
from traces.importers.base import LeftOut
from traces.importers.log_rows import LogRows
from traces.importers.source_file import SourceFile

LINE_BYTES_MAX = 4 << 20
"""No line may be longer."""

BATCH_LINES = 1 << 15

_NESTED = (dict, list)


def jsonl_rows(file: SourceFile, columns: Sequence[str], left_out: LeftOut) -> Iterator[LogRows]:
    """Stream some members of the objects of a file, as text; what an object lacks is null.

    A dot in a column's name leads into an object: `user.id`. Lines that are no object, or where a
    member is an object or a list, are left out as bad; empty lines are passed over.

    Raises:
        TraceError: the file can't be read, or a line is too long.
    """
    lines = enumerate(_lines(file), start=1)
    while some := list(islice(lines, BATCH_LINES)):
        rows, numbers = [], []
        for number, line in some:
            row = _row(line, columns, f"{file.path.name}:{number}", left_out)
            if row is not None:
                rows.append(row)
                numbers.append(number)
        batch = pa.RecordBatch.from_arrays(
            [pa.array([row[place] for row in rows], pa.string()) for place in range(len(columns))],
            names=list(columns),
        )
        yield LogRows(batch, _places(file.path.name, numbers))


def _lines(file: SourceFile) -> Iterator[bytes]:
    stream = io.BufferedReader(file.stream)
    while line := stream.readline(LINE_BYTES_MAX + 1):
        if len(line) > LINE_BYTES_MAX:
            raise file.bad(f"a line is longer than {LINE_BYTES_MAX >> 20} MiB")
        yield line


def _row(
    line: bytes, columns: Sequence[str], place: str, left_out: LeftOut
) -> list[str | None] | None:
    if not line.strip():
        return None
    try:
        document = json.loads(line.decode())
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
    return [_text(value) for value in values]


def _member(document: dict[str, Any], column: str) -> Any:
    if column in document:
        return document[column]
    value: Any = document
    for step in column.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if type(value) is int:
        return str(value)
    if not isinstance(value, str):
        return json.dumps(value)
    # A lone surrogate is fine in JSON's escapes and nowhere else.
    return value if value.isascii() else value.encode(errors="replace").decode()


def _places(name: str, numbers: list[int]) -> Any:
    return lambda row: f"{name}:{numbers[row]}"
