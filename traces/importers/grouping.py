"""Groups the rows of a log, one for each access, into transactions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from traces.errors import TraceError

LATE_US = 10_000_000
"""The minimum time by which a row may be late, because logs are not quite ordered."""

OPEN_ROWS_MAX = 1 << 22
"""The maximum number of rows in incomplete transactions."""


@dataclass(frozen=True)
class Groups:
    """The rows of complete transactions.

    Attributes:
        rows: the rows, transaction by transaction, each ordered by time.
        starts: the start of each transaction.
    """

    rows: pa.Table
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of rows of each transaction."""
        return np.diff(np.append(self.starts, self.rows.num_rows))


class Grouping:
    """Collects the rows of each transaction while the log is read.

    Rows belong to one transaction if they have the same group and no gap between them is too long.
    A transaction is complete when no later row can belong to it.

    Args:
        gap_us: the longest pause within a transaction.

    Attributes:
        late_us: the time by which a row may be late.
    """

    def __init__(self, gap_us: int) -> None:
        self._gap = gap_us
        self.late_us = max(gap_us, LATE_US)
        self._open: pa.Table | None = None
        self._newest: int | None = None

    @property
    def earliest(self) -> int | None:
        """The time before which rows are too late; None: no row is."""
        return None if self._newest is None else self._newest - self.late_us

    def add(self, rows: pa.Table) -> Groups:
        """Add rows and return the transactions that they complete.

        Args:
            rows: a table with the columns `group` and `time`, int64 without null, and any others.

        Raises:
            TraceError: incomplete transactions have too many rows.
        """
        if self._open is not None:
            rows = pa.concat_tables([self._open, rows])
        if rows.num_rows:
            newest = int(rows["time"].to_numpy().max())
            self._newest = newest if self._newest is None else max(newest, self._newest)
        groups, last = self._grouped(rows)
        complete = np.zeros(0, dtype=bool)
        if self._newest is not None:
            complete = last < self._newest - self.late_us - self._gap
        of_row = np.repeat(complete, groups.lengths)
        self._open = groups.rows.filter(pa.array(~of_row))
        if self._open.num_rows > OPEN_ROWS_MAX:
            raise TraceError(
                f"gap_ms: more than {OPEN_ROWS_MAX:,} rows belong to unfinished transactions; "
                "lower it, or name more columns that distinguish transactions"
            )
        rest = groups.rows.filter(pa.array(of_row))
        ends = np.cumsum(groups.lengths[complete])
        return Groups(rest, np.concatenate([[0], ends[:-1]]).astype(int)[: len(ends)])

    def finish(self) -> Groups | None:
        """Return the transactions that the end of the log completes."""
        return None if self._open is None else self._grouped(self._open)[0]

    def _grouped(self, rows: pa.Table) -> tuple[Groups, np.ndarray]:
        """Return the current transactions, and the time of each one's last row."""
        group, time = rows["group"].to_numpy(), rows["time"].to_numpy()
        order = np.lexsort([time, group])
        group, time = group[order], time[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (np.diff(group) != 0) | (np.diff(time) > self._gap)
        starts = np.flatnonzero(first)
        ends = np.append(starts, len(order))[1:]
        return Groups(rows.take(pa.array(order)), starts), time[ends - 1]
