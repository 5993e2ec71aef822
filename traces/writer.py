"""Writes a trace batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from traces.errors import TraceError, why
from traces.manifest import FILE_NAME, Manifest, read_manifest
from traces.new_folder import created_atomically
from traces.order import begins_of, in_order
from traces.schema import TRANSACTION
from traces.trace_files import DAY_US, day_of, part_path, time_text
from traces.validation import first_fault

ROW_GROUP_ROWS = 1 << 17
"""The maximum rows of a row group: some megabytes, which a reader holds in memory."""

PART_ROWS = 1 << 24
"""The approximate maximum rows of a file: a reader may have to hold their ids."""

BUFFERED_BYTES = 128 << 20
"""The size of the buffer that is sorted and written at a time."""

FEW_VALUES = [
    "type",
    "outcome",
    "parameters.key_value.key",
    "accesses.list.element.access",
    "accesses.list.element.table",
    "accesses.list.element.kind",
]
"""The columns that a dictionary compresses; in the others most values are distinct."""

RISING = {"transaction": "DELTA_BINARY_PACKED", "begin": "DELTA_BINARY_PACKED"}
"""The columns that are stored as differences."""

OPEN_DAYS_MAX = 64
"""The maximum number of files open at a time; a day that continues later gets another part."""


class TraceWriter:
    """Writes a trace: a context manager that creates the trace at its end.

    If the block raises, `folder` stays unchanged. Transactions may come in any order: each buffer
    is sorted by `begin`, and if it does not continue a day's file, the day gets another part.

    Example:
        >>> with TraceWriter(Path("shop"), manifest) as writer:
        ...     writer.write(pa.table(columns, schema=TRANSACTION))

    Args:
        folder: the trace's folder, which must not exist.
        manifest: the trace's manifest. You can assign the attribute `manifest` until the end, for
            example when the rows left out are known.
        replace: whether an existing trace is replaced, at the end.
        buffered_bytes: the size of the buffer in memory.

    Raises:
        TraceError: the folder exists or can't be written.
    """

    def __init__(
        self,
        folder: Path | str,
        manifest: Manifest,
        *,
        replace: bool = False,
        buffered_bytes: int = BUFFERED_BYTES,
    ) -> None:
        self.folder = Path(folder)
        self.manifest = manifest
        self._replace = replace
        self._buffered_bytes = buffered_bytes
        self._buffered = 0
        self._days: dict[int, _Day] = {}
        self._types: set[str] = set()
        self._stack = ExitStack()

    def __enter__(self) -> TraceWriter:
        """Create the temporary folder of the trace."""
        self._beside = self._stack.enter_context(created_atomically(self.folder, self._replace))
        self._stack.push(self._finish)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Write the buffer and rename the folder; after an error, remove it."""
        return self._stack.__exit__(kind, error, trace)

    def write(self, table: pa.Table) -> None:
        """Add transactions, in any order and of any days.

        Args:
            table: transactions of the schema `traces.schema.TRANSACTION`.

        Raises:
            TraceError: a value is invalid, see `traces.validation`, or the folder can't be written.
            ValueError: the table has another schema.
        """
        if not table.schema.equals(TRANSACTION):
            raise ValueError(f"the table must have the schema of a trace, but has {table.schema}")
        for batch in table.to_batches():
            fault = first_fault(batch)
            if fault is not None:
                raise TraceError(f"row {fault.row}: {fault.column}: {fault.words}")
        self._types.update(table.column("type").unique().to_pylist())
        for number, part in _by_day(in_order(table)):
            self._days.setdefault(number, _Day(self._beside, number)).add(part)
        self._buffered += table.nbytes
        if self._buffered >= self._buffered_bytes:
            self._flush()

    def _flush(self) -> None:
        with _disk_errors_reported(self.folder):
            for day in self._days.values():
                day.flush()
            open_days = [day for day in self._days.values() if day.is_open]
            for day in open_days[:-OPEN_DAYS_MAX]:
                day.close()
        self._buffered = 0

    def _finish(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._finish_whole()
        finally:
            for day in self._days.values():
                day.abandon()

    def _finish_whole(self) -> None:
        missing = self._types - {type_.name for type_ in self.manifest.types}
        if missing:
            raise ValueError(f"the manifest lacks the types {', '.join(sorted(missing))}")
        self._flush()
        with _disk_errors_reported(self.folder):
            for day in self._days.values():
                day.close()
            (self._beside / FILE_NAME).write_text(self.manifest.to_json(), encoding="utf-8")
        read_manifest(self._beside)  # an unreadable manifest must not be published


class _Day:
    """The files and the buffer of one day."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        self._gathered: list[pa.Table] = []
        self._file: pq.ParquetWriter | None = None
        self._parts = 0
        self._rows = 0
        self._last = 0

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def add(self, table: pa.Table) -> None:
        self._gathered.append(table)

    def flush(self) -> None:
        if not self._gathered:
            return
        table = in_order(pa.concat_tables(self._gathered))
        self._gathered.clear()
        begins = begins_of(table)
        full = self._rows + table.num_rows > PART_ROWS
        if self._file is not None and (full or begins[0] < self._last):
            self.close()
        file = self._file or self._next_part()
        groups = -(-table.num_rows // ROW_GROUP_ROWS)
        file.write_table(table, row_group_size=-(-table.num_rows // groups))
        self._last = begins[-1]
        self._rows += table.num_rows

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def abandon(self) -> None:
        """Discard a file that will be removed; pyarrow would complete it and report errors."""
        if self._file is not None:
            self._file.is_open = False
            self._file = None

    def _next_part(self) -> pq.ParquetWriter:
        path = part_path(self._folder, self._number, self._parts)
        path.parent.mkdir(exist_ok=True)
        self._parts += 1
        self._rows = 0
        self._file = pq.ParquetWriter(
            path,
            TRANSACTION,
            compression="zstd",
            use_dictionary=FEW_VALUES,
            column_encoding=RISING,
            write_statistics=list(RISING),
            write_page_checksum=True,
        )
        return self._file


def _by_day(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the day number and the transactions of each day of an ordered table."""
    if not table.num_rows:
        return
    begins = begins_of(table)
    for number in np.unique(begins // DAY_US).tolist():
        first, end = np.searchsorted(begins, [number * DAY_US, (number + 1) * DAY_US])
        try:
            day_of(number)
        except OverflowError:
            raise TraceError(
                "begin: must be between the years 1 and 9999, but is "
                f"{time_text(int(begins[first]))}"
            ) from None
        yield number, table.slice(first, end - first)


@contextmanager
def _disk_errors_reported(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TraceError(f"{folder}: can't be written: {why(error)}") from None
