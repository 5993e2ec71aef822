"""Normalizes the text of dates and times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)(?![\d-])")
_DATE = r"(?P<year>\d{4,6})-(?P<month>\d\d?)-(?P<day>\d\d?)"
_CLOCK = r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?"
_HALF = r"(?:\s*(?P<half>AM|PM)\b)?"
_NO_ZONE = r"(?!(?:AM|PM|BC|AD)\b)"
_ZONE = rf"\s*(?P<zone>[+-]\d\d?(?::?\d\d){{0,2}}|{_NO_ZONE}[A-Za-z][\w/+-]*)?"
_ERA = r"(?:\s*\b(?P<era>BC|AD))?"
_DAY = re.compile(rf"{_DATE}(?:[T\s]+{_CLOCK}{_HALF}{_ZONE})?{_ERA}", re.IGNORECASE)
_TIME = re.compile(rf"{_CLOCK}{_HALF}{_ZONE}", re.IGNORECASE)
_OFFSET = re.compile(r"([+-])(\d\d?)(?::?(\d\d))?(?::?(\d\d))?")
_ALWAYS = frozenset({"infinity", "-infinity"})
_EPOCH = "1970-01-01 00:00:00"
_UTC_NAMES = frozenset({"z", "utc", "gmt", "zulu", "uct"})
MICROSECONDS = 6


class ZonelessError(ValueError):
    """A time without a zone, for a column with one.

    Attributes:
        as_utc: the time as if it were in UTC.
    """

    def __init__(self, text: str, as_utc: str) -> None:
        super().__init__(f"{text!r} has no zone")
        self.as_utc = as_utc


def day(text: str) -> str:
    """Normalize a date: `2026-11-26`.

    Raises:
        ValueError: the order is not year, month, day.
    """
    special = _special(text)
    return special.partition(" ")[0] if special else _date_of(_match(_DAY, text))


def moment(text: str, digits: int = MICROSECONDS) -> str:
    """Normalize a timestamp without a zone: `2026-11-26 09:00:00.5`.

    Args:
        text: the timestamp; a zone is ignored, as PostgreSQL does.
        digits: the number of digits of the fraction.

    Raises:
        ValueError: the order is not year, month, day.
    """
    special = _special(text)
    if special:
        return special
    found = _match(_DAY, text)
    if found["era"] and found["era"].upper() == "BC":
        return f"{_date_of(found)} {_clock_of(found, digits)}"
    at, fraction = _local(found, digits)
    return _written(at, fraction)


def instant(text: str, digits: int = MICROSECONDS) -> str:
    """Normalize a timestamp with a zone to UTC: `2026-11-26 09:00:00`.

    Raises:
        ZonelessError: it has no zone.
        ValueError: the order is not year, month, day, or the zone is unknown.
    """
    special = _special(text)
    if special:
        return special
    found = _match(_DAY, text)
    if found["era"] and found["era"].upper() == "BC":
        raise ValueError(f"{text!r} is before the first year")
    at, fraction = _local(found, digits)
    if found["zone"] is None:
        raise ZonelessError(text, _written(at, fraction))
    try:
        in_utc = _in_utc(at, _zone(found["zone"]))
    except OverflowError:
        raise ValueError(f"{text!r} is out of range") from None
    return _written(in_utc, fraction)


def clock(text: str, digits: int = MICROSECONDS) -> str:
    """Normalize a time of day: `09:00:00.5`.

    Raises:
        ValueError: it does not start with the hours.
    """
    return _clock_of(_match(_TIME, text), digits)


def clock_with_zone(text: str, digits: int = MICROSECONDS) -> str:
    """Normalize a time of day with a zone; times of different zones are never equal.

    Raises:
        ZonelessError: it has no zone.
        ValueError: it does not start with the hours, or its zone is not an offset.
    """
    found = _match(_TIME, text)
    at = _clock_of(found, digits)
    if found["zone"] is None:
        raise ZonelessError(text, f"{at}+0:00:00")
    zone = _zone(found["zone"])
    if not isinstance(zone, timezone):
        raise ValueError(f"{text!r} has an offset that changes with the date")
    east = zone.utcoffset(None)
    sign = "-" if east < timedelta() else "+"
    return f"{at}{sign}{abs(east)}"


def _special(text: str) -> str | None:
    word = text.strip().lower()
    if word == "epoch":
        return _EPOCH
    return word if word in _ALWAYS else None


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    plain = text.strip()
    compact = _COMPACT.match(plain)
    found = pattern.fullmatch("-".join(compact.groups()) + plain[8:] if compact else plain)
    if found is None:
        raise ValueError(f"{text!r} is not in ISO's form")
    return found


def _date_of(found: re.Match[str]) -> str:
    year, month, number = (int(found[part]) for part in ("year", "month", "day"))
    if not (1 <= month <= 12 and 1 <= number <= 31 and year):
        raise ValueError(f"{found[0]!r} is not a date")
    before = " BC" if found["era"] and found["era"].upper() == "BC" else ""
    return f"{year:04}-{month:02}-{number:02}{before}"


def _clock_of(found: re.Match[str], digits: int) -> str:
    hour, minute, second = _hands(found)
    fraction = _fraction(found, digits)
    carried = 1 if fraction == 10**MICROSECONDS else 0
    total = (hour * 60 + minute) * 60 + second + carried
    written = f"{total // 3600:02}:{total // 60 % 60:02}:{total % 60:02}"
    return written + _fraction_text(0 if carried else fraction)


def _local(found: re.Match[str], digits: int) -> tuple[datetime, int]:
    """Return the time to the second, and its microseconds."""
    at = datetime(int(found["year"]), int(found["month"]), int(found["day"]))
    hour, minute, second = _hands(found)
    fraction = _fraction(found, digits)
    carried = 1 if fraction == 10**MICROSECONDS else 0
    at += timedelta(hours=hour, minutes=minute, seconds=second + carried)
    return at, 0 if carried else fraction


def _hands(found: re.Match[str]) -> tuple[int, int, int]:
    """Return hour, minute and second."""
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    half = (found["half"] or "").upper()
    if hour > (12 if half else 24) or minute > 59 or second > 60:
        raise ValueError(f"{found[0]!r} is not a time")
    if half == "AM" and hour == 12:
        hour = 0
    if half == "PM" and hour != 12:
        hour += 12
    return hour, minute, second


def _in_utc(at: datetime, zone: tzinfo) -> datetime:
    """Convert a local time to UTC; ambiguous and skipped times count in winter time."""
    # PostgreSQL uses the offset after a clock is set back, and before it is set forward.
    return max(at.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))


def _fraction(found: re.Match[str], digits: int) -> int:
    """Return microseconds, rounded to a number of digits of a second."""
    written = (found["fraction"] or "0")[:18]
    unit = 10 ** (MICROSECONDS - digits)
    scaled = int(written.ljust(18, "0"))
    step = unit * 10**12
    return (scaled + step // 2) // step * unit


def _written(at: datetime, fraction: int) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}".rjust(19, "0") + _fraction_text(fraction)


def _fraction_text(fraction: int) -> str:
    return f".{fraction:06}".rstrip("0") if fraction else ""


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    if name.lower() in _UTC_NAMES:
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset:
        hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
        east = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(east if offset[1] == "+" else -east)
    if "/" not in name:
        raise ValueError(f"{name} is an ambiguous zone")
    try:
        return ZoneInfo(name)
    except (OSError, KeyError):
        raise ValueError(f"{name} is not a zone") from None
