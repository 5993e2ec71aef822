"""From rows of a log, each an access, to transactions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from traces.errors import TraceError

LATE_US = 10_000_000
"""A row may come so much later than its time, at least: logs are not quite in order."""

OPEN_ROWS_MAX = 1 << 22
"""So many rows may belong to transactions that can still go on."""


@dataclass(frozen=True)
class Groups:
    """Rows of some transactions that are complete.

    Attributes:
        rows: of one transaction after the other, each in the order of time.
        starts: where each transaction begins.
    """

    rows: pa.Table
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """How many rows each transaction has."""
        return np.diff(np.append(self.starts, self.rows.num_rows))


class Grouping:
    """Gathers the rows of each transaction while the log goes by.

    Rows are of one transaction if they have the same group, and none is further than the gap from
    the one before it. A transaction is complete once the log is so far on that it can't go on.

    Args:
        gap_us: the longest pause within a transaction.

    Attributes:
        late_us: by so much a row may come later than its time.
    """

    def __init__(self, gap_us: int) -> None:
        self._gap = gap_us
        self.late_us = max(gap_us, LATE_US)
        self._open: pa.Table | None = None
        self._newest: int | None = None

    @property
    def earliest(self) -> int | None:
        """Rows before this come too late: their transactions may be gone. None: any may come."""
        return None if self._newest is None else self._newest - self.late_us

    def add(self, rows: pa.Table) -> Groups:
        """Take over rows and give back the transactions that they make complete.

        Args:
            rows: with the columns `group` and `time`, int64 without null, and any others.

        Raises:
            TraceError: too many rows belong to transactions that are not complete.
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
                f"gap_ms: {OPEN_ROWS_MAX:,} rows are of transactions without an end in sight; "
                "lower it, or name more columns that tell transactions apart"
            )
        rest = groups.rows.filter(pa.array(of_row))
        ends = np.cumsum(groups.lengths[complete])
        return Groups(rest, np.concatenate([[0], ends[:-1]]).astype(int)[: len(ends)])

    def finish(self) -> Groups | None:
        """The transactions that the end of the log makes complete."""
        return None if self._open is None else self._grouped(self._open)[0]

    def _grouped(self, rows: pa.Table) -> tuple[Groups, np.ndarray]:
        """The transactions so far, and when each of them was last seen."""
        group, time = rows["group"].to_numpy(), rows["time"].to_numpy()
        order = np.lexsort([time, group])
        group, time = group[order], time[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (np.diff(group) != 0) | (np.diff(time) > self._gap)
        starts = np.flatnonzero(first)
        ends = np.append(starts, len(order))[1:]
        return Groups(rows.take(pa.array(order)), starts), time[ends - 1]
