"""Streams logs in CSV."""

from __future__ import annotations

import csv as python_csv
import io
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa
from pyarrow import csv

from traces.errors import TraceError, shown
from traces.importers.base import LeftOut
from traces.importers.log_rows import LogRows
from traces.importers.read_ahead import EndableStream, reading
from traces.importers.source_file import SourceFile

BLOCK_BYTES = 4 << 20
"""The size of a block that is parsed at a time, and the limit of a row."""

HEADER_LINES = 1
HEADER_SHOWN_BYTES = 1000


def csv_rows(
    file: SourceFile, columns: Sequence[str], left_out: LeftOut, delimiter: str = ","
) -> Iterator[LogRows]:
    """Stream columns of a CSV file with a header, as bytes; an empty value is empty bytes.

    Rows with a wrong number of values are left out as bad; an empty line is a row of empty values.
    The location of a row is its line; line breaks within quotes are not counted.

    Raises:
        TraceError: the file can't be read, lacks a column, or has one twice.
    """
    _refuse_twice(file, columns, delimiter)
    misshapen = _Misshapen(file, left_out)
    before = 0
    stream = EndableStream(_stream(file))
    try:
        reader = _open(file, stream, columns, delimiter, misshapen)
        with reading(stream, reader):
            for batch in reader:
                misshapen.report()
                yield LogRows(batch, misshapen.places_from(before))
                before += batch.num_rows
            misshapen.report()
    except pa.ArrowInvalid as error:
        raise file.bad(_words(error)) from None


class _Misshapen:
    """Rows with a wrong number of values. The parser reports them ahead of the batches."""

    def __init__(self, file: SourceFile, left_out: LeftOut) -> None:
        self._file = file
        self._left_out = left_out
        self._good_before: list[int] = []
        self._words: list[str] = []

    def __call__(self, row: csv.InvalidRow) -> str:
        self._good_before.append(row.number - 1 - HEADER_LINES - len(self._good_before))
        self._words.append(
            f"{self._file.path.name}:{row.number}: {row.actual_columns} values where the header "
            f"has {row.expected_columns}: {shown(row.text)}"
        )
        return "skip"

    def report(self) -> None:
        words, self._words = self._words, []
        self._left_out.bad("wrong number of values", len(words), words)

    def places_from(self, first: int) -> Callable[[int], str]:
        """Return a function that locates the rows of a batch whose first valid row is `first`."""

        def place(row: int) -> str:
            number = first + row
            line = number + 1 + HEADER_LINES + bisect_right(self._good_before, number)
            return f"{self._file.path.name}:{line}"

        return place


def _open(
    file: SourceFile,
    stream: EndableStream,
    columns: Sequence[str],
    delimiter: str,
    misshapen: _Misshapen,
) -> csv.CSVStreamingReader:
    try:
        return csv.open_csv(
            stream,
            read_options=csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            parse_options=csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=misshapen,
            ),
            convert_options=csv.ConvertOptions(
                include_columns=list(columns),
                column_types={column: pa.binary() for column in columns},
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowKeyError:
        raise _lacks_columns(file, columns) from None


def _stream(file: SourceFile) -> BinaryIO:
    """Return the stream, with a line break added if it is only a header without one."""
    if file.is_whole and b"\n" not in file.beginning and b"\r" not in file.beginning:
        return io.BytesIO(file.beginning + b"\n")
    return file.stream


def _refuse_twice(file: SourceFile, columns: Sequence[str], delimiter: str) -> None:
    text = io.StringIO(file.beginning.decode(errors="replace"), newline="")
    header = next(python_csv.reader(text, delimiter=delimiter), [])
    for column in columns:
        if header.count(column) > 1:
            raise file.bad(
                f"has {header.count(column)} columns with the name {column}; rename the others"
            )


def _lacks_columns(file: SourceFile, columns: Sequence[str]) -> TraceError:
    header = file.beginning[:HEADER_SHOWN_BYTES].split(b"\n")[0].strip()
    return file.bad(
        f"must have the columns {', '.join(columns)}, but its header is "
        f"{shown(header.decode(errors='replace'))}"
    )


def _words(error: pa.ArrowInvalid) -> str:
    words = str(error).splitlines()[0]
    if "straddl" in words:
        return f"a row is longer than {BLOCK_BYTES >> 20} MiB, or a quote is never closed"
    if "Empty CSV" in words:
        return "is empty, or has only a header"
    return f"is not CSV: {words}"
