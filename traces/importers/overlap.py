"""Finds rows that occur in two overlapping files of a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

REPEATED = "row that an earlier file has, too: taken once"
SAME_TIMES = "event of a time that an earlier file has, too: taken as another event"


class Overlap:
    """Finds the rows of a file that an earlier file has.

    Args:
        late_us: the time by which a row may be late; older rows are forgotten.
    """

    def __init__(self, late_us: int) -> None:
        self._late = late_us
        self._newest: int | None = None
        self._rows: list[pa.Table] = []
        self._earlier: list[pa.Table] = []
        self._earlier_newest: int | None = None
        self._counts: Counter[tuple[Any, ...]] | None = None

    def next_file(self) -> None:
        """Start a file; the rows so far belong to earlier ones."""
        self._earlier = self._rows = list(self._recent())
        self._earlier_newest = self._newest
        self._counts = None

    def repeated(self, rows: pa.Table) -> np.ndarray:
        """Return a mask of the rows that an earlier file has, and remember the others.

        Args:
            rows: a table with the column `time`, int64 without null, and others; all are compared.
        """
        found = np.zeros(rows.num_rows, dtype=bool)
        times = rows["time"].to_numpy()
        if self._earlier_newest is not None:
            places = np.flatnonzero(times <= self._earlier_newest)
            if len(places):
                if self._counts is None:
                    self._counts = Counter(
                        entry for table in self._earlier for entry in _tuples(table)
                    )
                counts = self._counts
                for place, row in zip(places.tolist(), _tuples(rows.take(places)), strict=True):
                    if counts[row]:
                        counts[row] -= 1
                        found[place] = True
        if rows.num_rows:
            newest = int(times.max())
            self._newest = newest if self._newest is None else max(newest, self._newest)
            self._rows = [*self._recent(), rows.filter(pa.array(~found))]
        return found

    def _recent(self) -> Iterator[pa.Table]:
        """Yield the remembered rows that are not too old."""
        for table in self._rows:
            recent = table.filter(pc.greater_equal(table["time"], (self._newest or 0) - self._late))
            if recent.num_rows:
                yield recent


class Spans:
    """Finds the rows of a file between the first and the last time of another file.

    The first and the last time may belong to both, if a log is cut within a second.
    """

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []
        self._now: tuple[int, int] | None = None

    def next_file(self) -> None:
        """Start a file."""
        if self._now is not None:
            self._spans.append(self._now)
        self._now = None

    def covered(self, times: np.ndarray) -> np.ndarray:
        """Return a mask of the times that an earlier file covers.

        Args:
            times: the times of the next rows, in any unit.
        """
        found = np.zeros(len(times), dtype=bool)
        for first, last in self._spans:
            found |= (times > first) & (times < last)
        if len(times):
            ends = (int(times.min()), int(times.max()))
            now = self._now or ends
            self._now = (min(now[0], ends[0]), max(now[1], ends[1]))
        return found


def _tuples(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)
