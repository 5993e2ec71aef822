"""Reads and validates one Parquet file of a trace, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from traces.declared import DeclaredAccesses
from traces.errors import TraceError, shown, why
from traces.manifest import TransactionType
from traces.order import begins_of
from traces.schema import SCHEMA_VERSION, TRANSACTION, VERSION_KEY
from traces.trace_files import DAY_US, start_of, time_text
from traces.validation import first_fault

BATCH_ROWS = 1 << 16
"""The maximum number of rows that are decoded at a time."""

AGAIN = "copy it again from its source, or import the trace again"


class TracePart:
    """A file of a trace.

    Args:
        path: the file.
        day: the day (UTC) whose transactions it holds.
        types: the trace's transaction types, as its manifest declares them.

    Raises:
        TraceError: the file can't be read, is damaged, or is of another schema version.
    """

    def __init__(self, path: Path, day: date, types: Sequence[TransactionType]) -> None:
        self.path = path
        self._first = start_of(day)
        self._day = day
        self._names = [type_.name for type_ in types]
        self._declared = DeclaredAccesses(types)
        self._ids_checked = False

    @property
    def rows(self) -> int:
        """The number of transactions."""
        return int(self._file.metadata.num_rows)

    @cached_property
    def span(self) -> tuple[int, int]:
        """The bounds of `begin`, from the metadata; the whole day if the metadata lacks them."""
        metadata = self._file.metadata
        column = TRANSACTION.names.index("begin")
        bounds = []
        for group in range(metadata.num_row_groups):
            statistics = metadata.row_group(group).column(column).statistics
            if statistics is None or not statistics.has_min_max:
                return self._first, self._first + DAY_US
            bounds += [statistics.min_raw, statistics.max_raw]
        return (min(bounds), max(bounds)) if bounds else (self._first, self._first)

    def tables(self, columns: list[str]) -> Iterator[pa.Table]:
        """Yield the validated transactions.

        Args:
            columns: columns of `TRANSACTION`, including `transaction` and `begin`.

        Raises:
            TraceError: see `traces.reader.Trace.batches`.
        """
        self._ids_checked = False
        last = self._first
        highest: int | None = None
        for group in range(self._file.metadata.num_row_groups):
            before = 0
            for batch in self._batches(group, columns):
                place = _Place(self.path, group, before)
                fault = first_fault(batch, self._names) or self._declared.first_fault(batch)
                if fault is not None:
                    raise place.wrong(fault.row, fault.column, fault.words)
                last = self._check_begins(begins_of(batch), last, place)
                highest = self._check_ids(batch.column("transaction").to_numpy(), highest)
                before += batch.num_rows
                yield pa.Table.from_batches([batch])

    @cached_property
    def _file(self) -> pq.ParquetFile:
        if not self.path.is_file():
            raise TraceError(f"{self.path}: is not a file")
        try:
            file = pq.ParquetFile(self.path, page_checksum_verification=True, pre_buffer=False)
            schema = file.schema_arrow
        except pa.ArrowInvalid as error:
            raise TraceError(
                f"{self.path}: is damaged or not Parquet: {_first_line(error)}; {AGAIN}"
            ) from None
        except OSError as error:
            raise TraceError(f"{self.path}: can't be read: {why(error)}") from None
        self._check_schema(schema)
        return file

    def _check_schema(self, schema: pa.Schema) -> None:
        version = (schema.metadata or {}).get(VERSION_KEY)
        if version is None:
            raise TraceError(
                f"{self.path}: is not part of a trace: its metadata has no {VERSION_KEY.decode()}; "
                "create a trace with heddle trace import"
            )
        if version != str(SCHEMA_VERSION).encode():
            raise TraceError(
                f"{self.path}: has schema version {shown(version.decode(errors='replace'))}; this "
                f"Heddle reads version {SCHEMA_VERSION}; use the Heddle that wrote the trace"
            )
        for number, wanted in enumerate(TRANSACTION):
            if number >= len(schema) or not schema.field(number).equals(wanted):
                found = schema.field(number) if number < len(schema) else "nothing"
                raise TraceError(
                    f"{self.path}: column {number}: must be {wanted}, not {found}; {AGAIN}"
                )
        if len(schema) > len(TRANSACTION):
            raise TraceError(
                f"{self.path}: has unknown columns: "
                f"{', '.join(schema.names[len(TRANSACTION) :])}; {AGAIN}"
            )

    def _batches(self, group: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._file.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns):
                batch.validate(full=True)
                yield batch
        except (OSError, pa.ArrowException) as error:
            raise TraceError(
                f"{self.path}: row group {group}: is damaged: {_first_line(error)}; {AGAIN}"
            ) from None

    def _check_ids(self, ids: np.ndarray, highest: int | None) -> int | None:
        """Check that no transaction occurs twice.

        Increasing ids, the usual case, need no memory. Otherwise all ids of the file are read
        again.

        Args:
            ids: the ids of a batch.
            highest: the largest id before it; None after all ids were checked.
        """
        if self._ids_checked or not len(ids):
            return highest
        if (highest is None or ids[0] > highest) and (np.diff(ids) > 0).all():
            return int(ids[-1])
        self._ids_checked = True
        ids = np.concatenate(
            [
                batch.column(0).to_numpy()
                for group in range(self._file.metadata.num_row_groups)
                for batch in self._batches(group, ["transaction"])
            ]
        )
        order = np.argsort(ids, kind="stable")
        again = order[1:][np.diff(ids[order]) == 0]
        if len(again):
            row = int(again.min())
            raise self._place_of(row).wrong(
                0, "transaction", f"{ids[row]} occurs twice in the file"
            )
        return None

    def _place_of(self, row: int) -> _Place:
        group = 0
        while row >= self._file.metadata.row_group(group).num_rows:
            row -= self._file.metadata.row_group(group).num_rows
            group += 1
        return _Place(self.path, group, row)

    def _check_begins(self, begins: np.ndarray, last: int, place: _Place) -> int:
        """Check the times of a batch that follows a row of the time `last`."""
        outside = (begins < self._first) | (begins >= self._first + DAY_US)
        if outside.any():
            row = int(outside.argmax())
            raise place.wrong(
                row, "begin", f"must be on {self._day} (UTC), not {time_text(int(begins[row]))}"
            )
        early = np.diff(begins, prepend=last) < 0
        if early.any():
            row = int(early.argmax())
            raise place.wrong(
                row,
                "begin",
                f"{time_text(int(begins[row]))} is before the time of the previous row",
            )
        return int(begins[-1]) if len(begins) else last


class _Place:
    """The position of a batch in a file."""

    def __init__(self, path: Path, group: int, before: int) -> None:
        self.path = path
        self._group = group
        self._before = before

    def wrong(self, row: int, column: str, words: str) -> TraceError:
        return TraceError(
            f"{self.path}: row group {self._group}, row {self._before + row}: {column}: {words}"
        )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
