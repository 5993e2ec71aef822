"""Opening a trace and streaming its transactions."""

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
"""Columns that are read whatever is asked for: the rows' order and identity are checked."""


@dataclass(frozen=True)
class Trace:
    """A trace on disk.

    Attributes:
        folder: where it lies.
        manifest: what it says about itself.
    """

    folder: Path
    manifest: Manifest

    @cached_property
    def days(self) -> tuple[date, ...]:
        """The days (UTC) that it has transactions of, in order."""
        return tuple(self._folders)

    def files(self, day: date) -> tuple[Path, ...]:
        """The Parquet files of a day.

        Raises:
            TraceError: the trace has no such day.
        """
        if day not in self._folders:
            raise TraceError(f"{self.folder}: has no day {day}; {self._span()}")
        return parts_of(self._folders[day])

    def transactions(self, day: date) -> int:
        """How many transactions a day has, from the files' own counts.

        Raises:
            TraceError: there is no such day, or a file of it can't be read.
        """
        return sum(part.rows for part in self._parts(day))

    def batches(
        self, columns: Sequence[str] | None = None, days: Collection[date] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Stream transactions in the order of `begin`, validated.

        Holds a row group's worth of each part of one day at a time.

        Args:
            columns: of `traces.schema.TRANSACTION`; all by default. The fewer, the faster.
            days: which days, in any order; all by default.

        Raises:
            TraceError: a file is damaged or not of a trace, or a value may not be there; the
                message names the file, the row group, the row in it and the column.
        """
        wanted = list(TRANSACTION.names) if columns is None else list(columns)
        for column in wanted:
            if column not in TRANSACTION.names:
                raise TraceError(
                    f"{column}: is no column of a trace; they are {', '.join(TRANSACTION.names)}"
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
        return f"its days go from {self.days[0]} to {self.days[-1]}"

    def _parts(self, day: date) -> list[TracePart]:
        return [TracePart(path, day, self.manifest.types) for path in self.files(day)]

    def _tables(self, day: date, columns: list[str]) -> Iterator[pa.Table]:
        """A day in order: parts that follow one another one by one, others merged."""
        parts = sorted(self._parts(day), key=lambda part: part.span)
        together: list[TracePart] = []
        for part in parts:
            if together and part.span[0] < max(one.span[1] for one in together):
                together.append(part)
                continue
            yield from merged([one.tables(columns) for one in together])
            together = [part]
        yield from merged([one.tables(columns) for one in together])


def open_trace(folder: Path | str) -> Trace:
    """Open a trace.

    Raises:
        TraceError: it is none, or one of another version, or its name is not UTF-8.
    """
    folder = Path(folder)
    refuse_bad_name(folder)
    if not folder.is_dir():
        known = "is no folder" if folder.exists() else "there is no such folder"
        raise TraceError(f"{folder}: {known}; make a trace with heddle trace import")
    return Trace(folder, read_manifest(folder))
