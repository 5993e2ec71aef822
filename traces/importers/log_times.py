"""Parses the times of a log in any of their forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from traces.importers.log_rows import as_text
from traces.importers.zone_names import names_zone, parse_with_zone
from traces.trace_files import LAST_US

ISO = "iso"
EPOCH = "epoch"
UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}
"""Microseconds of each unit of epoch times."""

_UTC = ZoneInfo("UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=_UTC)
_NUMBER = r"^-?[0-9]{1,19}(\.[0-9]+)?$"


@dataclass(frozen=True)
class Times:
    """Times of a column, in microseconds since 1970 (UTC), int64; null for invalid values.

    Where the zone's clock is set back, a local time has two meanings: `first` and the later
    `second`. Where it is set forward, some local times do not exist: `first` continues the offset
    from before the change, and `second` applies the offset from after it, and so is earlier.
    Otherwise both are equal.
    """

    first: pa.Array
    second: pa.Array


@dataclass(frozen=True)
class TimeForm:
    """The form of a log's times.

    Attributes:
        format: `iso`, `epoch`, or a format of Python's `strptime`.
        unit: the unit of epoch times, one of `UNITS`.
        zone: the zone of times without one.
    """

    format: str = ISO
    unit: str = "s"
    zone: tzinfo = _UTC

    def is_readable(self) -> bool:
        """Whether this format can be parsed."""
        if self.format in (ISO, EPOCH):
            return True
        try:
            datetime.strptime(_EPOCH.strftime(self.format), self.format)
        except (ValueError, IndexError, re.error):
            return False
        return True

    def parse(self, column: pa.Array) -> Times:
        """Parse a column of text, timestamps or numbers."""
        if pa.types.is_timestamp(column.type):
            return self._of_timestamps(column)
        if self.format == EPOCH:
            return _certain(self._of_numbers(as_text(column)))
        encoded = as_text(column).dictionary_encode()
        words = self._of_text(encoded.dictionary)
        return Times(words.first.take(encoded.indices), words.second.take(encoded.indices))

    def _of_timestamps(self, column: pa.Array) -> Times:
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if column.type.tz is not None or self.zone == _UTC:
            return _certain(column.cast(pa.int64()))
        try:
            return Times(*(self._local(column, which) for which in ("earliest", "latest")))
        except pa.ArrowInvalid:  # the clock skipped this time
            return self._each(column.cast(pa.string()), datetime.fromisoformat)

    def _local(self, column: pa.Array, which: str) -> pa.Array:
        zoned = pc.assume_timezone(column, str(self.zone), ambiguous=which)
        return zoned.cast(pa.int64())

    def _of_numbers(self, text: pa.Array) -> pa.Array:
        numbers = pc.if_else(pc.match_substring_regex(text, _NUMBER), text, None)
        microseconds = pc.round(pc.multiply(numbers.cast(pa.float64()), UNITS[self.unit]))
        fits = pc.less(pc.abs(microseconds), float(LAST_US))
        return pc.if_else(fits, microseconds, None).cast(pa.int64())

    def _of_text(self, text: pa.Array) -> Times:
        if self.format == ISO:
            try:
                return self._of_timestamps(text.cast(pa.timestamp("us")))
            except pa.ArrowInvalid:
                return self._each(text, datetime.fromisoformat)
        if names_zone(self.format):
            return self._each(text, lambda value: parse_with_zone(value, self.format, self.zone))
        return self._each(text, lambda value: datetime.strptime(value, self.format))

    def _each(self, text: pa.Array, parse: Callable[[str], datetime]) -> Times:
        pairs = [
            _NO_TIME if value is None else self._pair(value, parse) for value in text.to_pylist()
        ]
        first, second = zip(*pairs, strict=True) if pairs else ((), ())
        return Times(pa.array(first, pa.int64()), pa.array(second, pa.int64()))

    def _pair(self, text: str, parse: Callable[[str], datetime]) -> tuple[int | None, int | None]:
        try:
            time = parse(text)
            if time.tzinfo is not None:
                return _microseconds(time), _microseconds(time)
            local = time.replace(tzinfo=self.zone)
            return _microseconds(local), _microseconds(local.replace(fold=1))
        except (ValueError, OverflowError):
            return _NO_TIME


_NO_TIME = (None, None)


def _microseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1)


def _certain(times: pa.Array) -> Times:
    return Times(times, times)
