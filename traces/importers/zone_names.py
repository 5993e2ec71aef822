"""Parses times with a zone's name: `%Z` of a format, whose meaning `strptime` discards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

_DIRECTIVE = re.compile(r"%(.)", re.DOTALL)
_UTC_NAMES = ("UTC", "GMT", "Z")
_YEARS = range(1970, 2050)


def names_zone(form: str) -> bool:
    """Whether a format of `strptime` includes the name of a zone."""
    return "Z" in _DIRECTIVE.findall(form)


def parse_with_zone(text: str, form: str, zone: tzinfo) -> datetime:
    """Parse a time with the zone that its text names: UTC, or one of the names of `zone`.

    If the zone has the time twice under one name, the result has no zone.

    Raises:
        ValueError: the time is not in this format, or of another zone.
    """
    for time, name in _readings(text, form, zone):
        if time.tzinfo is not None:  # the text also has an offset
            return time
        if name in _UTC_NAMES:
            return time.replace(tzinfo=UTC)
        folds = [time.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
        named = [local for local in folds if local.tzname() == name]
        if len({local.utcoffset() for local in named}) > 1:
            return time  # the name is ambiguous
        if named:
            # In UTC, so that the result is unambiguous when clocks are set back.
            return named[0].astimezone(UTC)
    raise ValueError(f"{text!r} is not in the form {form!r}, or of another zone")


def _readings(text: str, form: str, zone: tzinfo) -> Iterator[tuple[datetime, str]]:
    for name in (*_UTC_NAMES, *_names_of(zone)):
        if name in text.upper():
            try:
                yield datetime.strptime(text, _with_name(form, name)), name
            except ValueError:
                continue


@lru_cache(maxsize=256)
def _with_name(form: str, name: str) -> str:
    return _DIRECTIVE.sub(lambda found: name if found[1] == "Z" else found[0], form)


@lru_cache(maxsize=16)
def _names_of(zone: tzinfo) -> tuple[str, ...]:
    """Return the names of a zone's clocks through the years."""
    days = [
        datetime(year, 1, 1) + timedelta(days=days) for year in _YEARS for days in range(0, 365, 30)
    ]
    names = {day.replace(tzinfo=zone).tzname() or "" for day in days}
    return tuple(sorted(names - {"", *_UTC_NAMES}))
