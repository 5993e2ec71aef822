"""Rows of a log, and which of them can be used."""

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
    """Some rows of a file.

    Attributes:
        batch: the columns that are needed.
        place: where a row of the batch is, such as `log.csv:17`.
    """

    batch: pa.RecordBatch
    place: Callable[[int], str]

    def where(self, mask: np.ndarray) -> LogRows:
        """Only some of the rows."""
        if mask.all():
            return self
        numbers = np.flatnonzero(mask)
        place = self.place
        return LogRows(self.batch.filter(pa.array(mask)), lambda row: place(int(numbers[row])))

    def without(self, which: np.ndarray, reason: str, left_out: LeftOut) -> LogRows:
        """Only the others: these rows are fine and no transactions."""
        left_out.skip(reason, int(which.sum()))
        return self.where(~which)

    def with_column(self, name: str, column: pa.Array) -> LogRows:
        """The same rows with one more column."""
        return LogRows(self.batch.append_column(name, column), self.place)

    def guess(self, which: np.ndarray, column: str, reason: str, left_out: LeftOut) -> None:
        """Count rows of which it is guessed what `column` means.

        Raises:
            TraceError: there are some, and that is an error.
        """
        left_out.guess(reason, int(which.sum()), self._examples(np.flatnonzero(which), column))

    def _examples(self, rows: np.ndarray, column: str) -> list[str]:
        values = self.batch.column(column)
        return [
            f"{self.place(row)}: {column} is {shown(_text(values[row]))}"
            for row in rows[:NAMED_MAX].tolist()
        ]

    def require(self, good: np.ndarray, column: str, reason: str, left_out: LeftOut) -> LogRows:
        """Only the good ones: the others can't be used, for what `column` is.

        Raises:
            TraceError: there are bad ones, and that is an error.
        """
        bad = np.flatnonzero(~good)
        if not len(bad):
            return self
        left_out.bad(reason, len(bad), self._examples(bad, column))
        return self.where(good)


def mask_of(condition: pa.Array) -> np.ndarray:
    """A boolean array as a mask; null is no."""
    return condition.fill_null(False).to_numpy(zero_copy_only=False)


def as_text(column: pa.Array) -> pa.Array:
    """A column as text; null where it is bytes that are not UTF-8."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_decoded(value) for value in column.to_pylist()], pa.string())


def not_empty(column: pa.Array) -> np.ndarray:
    """Which values are there, and not the empty text: a mask."""
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
