"""Opens a trace and streams its transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from traces.errors import TraceError, why
from traces.manifest import Manifest, read_manifest
from traces.new_folder import refuse_bad_name
from traces.order import merged
from traces.schema import TRANSACTION
from traces.trace_files import day_folders, parts_of
from traces.trace_part import TracePart

NEEDED = ("transaction", "begin")
"""Columns that are always read, to check the order and the identity of rows."""


@dataclass(frozen=True)
class Trace:
    """A trace on disk.

    Attributes:
            folder: its folder.
            manifest: its manifest.
    """

    folder: Path
    manifest: Manifest

    @cached_property
    def days(self) -> tuple[date, ...]:
        """The days (UTC) that have transactions, in order."""
        return tuple(self._folders)

    def files(self, day: date) -> tuple[Path, ...]:
        """Return the Parquet files of a day.

        Raises:
            TraceError: the trace has no such day.
        """
        if day not in self._folders:
            raise TraceError(f"{self.folder}: has no day {day}; {self._span()}")
        return parts_of(self._folders[day])

    def transactions(self, day: date) -> int:
        """Return the number of transactions of a day, from the metadata of its files.

        Raises:
            TraceError: the day is missing, or one of its files can't be read.
        """
        return sum(part.rows for part in self._parts(day))

    def batches(
        self, columns: Sequence[str] | None = None, days: Collection[date] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Stream validated transactions in the order of `begin`.

        Memory holds one row group of each part of one day at a time.

        Args:
            columns: columns of `traces.schema.TRANSACTION`, by default all; fewer are faster.
            days: days in any order, by default all.

        Raises:
            TraceError: a file is damaged or not part of a trace, or a value is invalid; the message
                names the file, the row group, the row in it and the column.
        """
        wanted = list(TRANSACTION.names) if columns is None else list(columns)
        for column in wanted:
            if column not in TRANSACTION.names:
                raise TraceError(
                    f"{column}: unknown column; choose from {', '.join(TRANSACTION.names)}"
                )
        read = [name for name in TRANSACTION.names if name in (*wanted, *NEEDED)]
        for day in sorted(set(days)) if days is not None else self.days:
            for table in self._tables(day, read):
                yield from table.select(wanted).combine_chunks().to_batches()

    @cached_property
    def _folders(self) -> dict[date, Path]:
        try:
            return day_folders(self.folder)
        except OSError as error:
            raise TraceError(f"{self.folder}: can't be read: {why(error)}") from None

    def _span(self) -> str:
        if not self.days:
            return "it is empty"
        return f"its days are from {self.days[0]} to {self.days[-1]}"

    def _parts(self, day: date) -> list[TracePart]:
        return [TracePart(path, day, self.manifest.types) for path in self.files(day)]

    def _tables(self, day: date, columns: list[str]) -> Iterator[pa.Table]:
        """Yield a day in order: parts that do not overlap one by one, and others merged."""
        parts = sorted(self._parts(day), key=lambda part: part.span)
        together: list[TracePart] = []
        for part in parts:
            if together and part.span[0] < max(other.span[1] for other in together):
                together.append(part)
                continue
            yield from merged([other.tables(columns) for other in together])
            together = [part]
        yield from merged([other.tables(columns) for other in together])


def open_trace(folder: Path | str) -> Trace:
    """Open a trace.

    Raises:
        TraceError: the folder is not a trace, has another schema version, or a name that is not
            UTF-8.
    """
    folder = Path(folder)
    refuse_bad_name(folder)
    if not folder.is_dir():
        known = "is not a folder" if folder.exists() else "there is no such folder"
        raise TraceError(f"{folder}: {known}; create a trace with heddle trace import")
    return Trace(folder, read_manifest(folder))
