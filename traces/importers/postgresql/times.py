"""Parses the time of a log entry as PostgreSQL writes it: `2026-11-21 09:12:31.412 CET`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_UTC_NAMES = frozenset({"UTC", "GMT", "Z", "Etc/UTC", "UCT", "Zulu"})
_TIME = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-\d\d (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3} \S+")
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)?:?(\d\d)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATE = timedelta(seconds=10)
"""The maximum deviation of a log's entries from the order of time."""


class UnknownZoneError(ValueError):
    """An ambiguous abbreviation of a zone; the message says what to do."""


class LogTimes:
    """Parses times; entries of the same second share the work.

    Args:
        zone: the server's `log_timezone`, for logs that are not in UTC, because abbreviations such
            as `IST` are ambiguous.

    Attributes:
        is_guessed: whether the last time was one of two with the same abbreviation.
    """

    def __init__(self, zone: ZoneInfo | None = None) -> None:
        self._zone = zone
        self._second = "none yet"
        self._abbreviation = ""
        self._second_us = 0
        self._newest: datetime | None = None
        self.is_guessed = False

    def us(self, text: str) -> int:
        """Return microseconds since 1970 (UTC).

        Raises:
            UnknownZoneError: the zone is ambiguous.
            ValueError: the text is not a time.
        """
        if text[:19] != self._second or text[24:] != self._abbreviation:
            if not _TIME.fullmatch(text):
                raise ValueError(f"{text!r} is not a time of a log")
            self._second_us = self._whole_second(text[:19], text[24:])
            self._second, self._abbreviation = text[:19], text[24:]
        return self._second_us + int(text[20:23]) * 1000

    def _whole_second(self, second: str, abbreviation: str) -> int:
        local = datetime.fromisoformat(second)
        self.is_guessed = False
        moment = local.replace(tzinfo=self._zone_of(local, abbreviation))
        self._newest = moment if self._newest is None else max(moment, self._newest)
        return (moment - _EPOCH) // timedelta(microseconds=1)

    def _zone_of(self, local: datetime, abbreviation: str) -> tzinfo:
        if abbreviation in _UTC_NAMES:
            return UTC
        offset = _OFFSET.fullmatch(abbreviation)
        if offset:
            hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
            east = timedelta(hours=hours, minutes=minutes, seconds=seconds)
            return timezone(east if offset[1] == "+" else -east)
        if self._zone is None:
            raise UnknownZoneError(
                f"times are in the zone '{abbreviation}', which is ambiguous: give the server's "
                "log_timezone, such as --timezone Europe/Berlin"
            )
        moments = [local.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1)]
        offsets = [
            moment.utcoffset() or timedelta()
            for moment in moments
            if moment.tzname() == abbreviation
        ]
        if offsets:
            return timezone(self._resolved(local, offsets[0], offsets[-1]))
        raise UnknownZoneError(
            f"times are in the zone '{abbreviation}', which {self._zone} does not have at "
            f"{local}: give the server's log_timezone with --timezone"
        )

    def _resolved(self, local: datetime, first: timedelta, second: timedelta) -> timedelta:
        """Return the offset of an ambiguous time: the second if the log is already later."""
        shift = first - second
        if shift <= timedelta():
            return first
        self.is_guessed = True
        before = local.replace(tzinfo=timezone(first)) < (self._newest or _EPOCH) - _LATE
        return second if before else first
