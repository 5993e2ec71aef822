"""Rows of a log, and the selection of usable ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traces.errors import shown
from traces.importers.base import NAMED_MAX, LeftOut


@dataclass(frozen=True)
class LogRows:
    """Rows of a file.

    Attributes:
        batch: the columns that are needed.
        place: returns the location of a row of the batch, such as `log.csv:17`.
    """

    batch: pa.RecordBatch
    place: Callable[[int], str]

    def where(self, mask: np.ndarray) -> LogRows:
        """Select rows by a mask."""
        if mask.all():
            return self
        numbers = np.flatnonzero(mask)
        place = self.place
        return LogRows(self.batch.filter(pa.array(mask)), lambda row: place(int(numbers[row])))

    def without(self, which: np.ndarray, reason: str, left_out: LeftOut) -> LogRows:
        """Remove rows that are valid but no transactions."""
        left_out.skip(reason, int(which.sum()))
        return self.where(~which)

    def with_column(self, name: str, column: pa.Array) -> LogRows:
        """Return the rows with an additional column."""
        return LogRows(self.batch.append_column(name, column), self.place)

    def guess(self, which: np.ndarray, column: str, reason: str, left_out: LeftOut) -> None:
        """Count rows for which the meaning of `column` is guessed.

        Raises:
            TraceError: there are such rows, and guesses are errors.
        """
        left_out.guess(reason, int(which.sum()), self._examples(np.flatnonzero(which), column))

    def _examples(self, rows: np.ndarray, column: str) -> list[str]:
        values = self.batch.column(column)
        return [
            f"{self.place(row)}: {column} is {shown(_text(values[row]))}"
            for row in rows[:NAMED_MAX].tolist()
        ]

    def require(self, good: np.ndarray, column: str, reason: str, left_out: LeftOut) -> LogRows:
        """Return the good rows; the others are counted as bad because of `column`.

        Raises:
            TraceError: there are bad rows, and these are errors.
        """
        bad = np.flatnonzero(~good)
        if not len(bad):
            return self
        left_out.bad(reason, len(bad), self._examples(bad, column))
        return self.where(good)


def mask_of(condition: pa.Array) -> np.ndarray:
    """Return a boolean array as a mask; null becomes false."""
    return condition.fill_null(False).to_numpy(zero_copy_only=False)


def as_text(column: pa.Array) -> pa.Array:
    """Return a column as text; null for bytes that are not UTF-8."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_decoded(value) for value in column.to_pylist()], pa.string())


def not_empty(column: pa.Array) -> np.ndarray:
    """Return a mask of the values that are neither null nor empty."""
    there = mask_of(column.is_valid())
    if pa.types.is_binary(column.type) or pa.types.is_string(column.type):
        there = there & mask_of(pc.greater(pc.binary_length(column), 0))
    return there


def _text(value: pa.Scalar) -> object:
    plain = value.as_py()
    return plain.decode(errors="replace") if isinstance(plain, bytes) else plain


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
