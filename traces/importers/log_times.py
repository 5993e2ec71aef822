"""Times of a log, in whatever form it has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from traces.importers.log_rows import as_text
from traces.trace_files import LAST_US

ISO = "iso"
EPOCH = "epoch"
UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}
"""Microseconds in each unit of an epoch time."""

_UTC = ZoneInfo("UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=_UTC)
_NUMBER = r"^-?[0-9]{1,19}(\.[0-9]+)?$"


@dataclass(frozen=True)
class TimeForm:
    """How a log writes its times.

    Attributes:
        format: `iso`, `epoch`, or a format of Python's `strptime`.
        unit: of epoch times, one of `UNITS`.
        zone: of times that carry none. Where a clock is set back, the first of the two is meant;
            a time that it skipped is counted on from the hour before.
    """

    format: str = ISO
    unit: str = "s"
    zone: tzinfo = _UTC

    def parse(self, column: pa.Array) -> pa.Array:
        """Microseconds since 1970 (UTC), int64; null where the value is no such time."""
        if pa.types.is_timestamp(column.type):
            return self._of_timestamps(column)
        if self.format == EPOCH:
            return self._of_numbers(as_text(column))
        encoded = as_text(column).dictionary_encode()
        return self._of_text(encoded.dictionary).take(encoded.indices)

    def _of_timestamps(self, column: pa.Array) -> pa.Array:
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if column.type.tz is None:
            try:
                column = pc.assume_timezone(column, str(self.zone), ambiguous="earliest")
            except pa.ArrowInvalid:  # a time that the clock skipped
                text = column.cast(pa.string())
                return pa.array(self._each(text, datetime.fromisoformat), pa.int64())
        return column.cast(pa.int64())

    def _of_numbers(self, text: pa.Array) -> pa.Array:
        numbers = pc.if_else(pc.match_substring_regex(text, _NUMBER), text, None)
        microseconds = pc.round(pc.multiply(numbers.cast(pa.float64()), UNITS[self.unit]))
        fits = pc.less(pc.abs(microseconds), float(LAST_US))
        return pc.if_else(fits, microseconds, None).cast(pa.int64())

    def _of_text(self, text: pa.Array) -> pa.Array:
        if self.format == ISO:
            try:
                return self._of_timestamps(text.cast(pa.timestamp("us")))
            except pa.ArrowInvalid:
                return pa.array(self._each(text, datetime.fromisoformat), pa.int64())
        parsed = self._each(text, lambda one: datetime.strptime(one, self.format))
        return pa.array(parsed, pa.int64())

    def _each(self, text: pa.Array, parse: Callable[[str], datetime]) -> list[int | None]:
        return [None if one is None else self._microseconds(one, parse) for one in text.to_pylist()]

    def _microseconds(self, text: str, parse: Callable[[str], datetime]) -> int | None:
        try:
            time = parse(text)
            time = time if time.tzinfo else time.replace(tzinfo=self.zone)
            return (time - _EPOCH) // timedelta(microseconds=1)
        except (ValueError, OverflowError):
            return None
