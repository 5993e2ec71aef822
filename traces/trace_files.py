"""Paths of the files of a trace: `day=2026-11-21/part-0.parquet`."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

DAY_US = 86_400_000_000

FIRST_US = -62_135_596_800_000_000
LAST_US = 253_402_300_800_000_000
"""The years 1 to 9999, in microseconds since 1970 (UTC): the times that have a text form."""

_EPOCH = date(1970, 1, 1)
_DAY_FOLDER = re.compile(r"day=(\d{4}-\d\d-\d\d)")
_PART = re.compile(r"part-(\d+)\.parquet")


def part_path(folder: Path, day: int, part: int) -> Path:
    """Return the path of a part of a day, which is numbered from 1970-01-01."""
    return folder / f"day={day_of(day).isoformat()}" / f"part-{part}.parquet"


def day_of(number: int) -> date:
    """Return the date of a day number, counted from 1970-01-01.

    Raises:
        OverflowError: the date is before year 1 or after year 9999.
    """
    return _EPOCH + timedelta(days=number)


def start_of(day: date) -> int:
    """Return when a day begins, in microseconds since 1970 (UTC)."""
    return (day - _EPOCH).days * DAY_US


def time_text(microseconds: int) -> str:
    """Return a time for people, from microseconds since 1970 (UTC)."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        return f"{microseconds} µs after 1970"


def day_folders(folder: Path) -> dict[date, Path]:
    """Return the folders of a trace's days, in order; other entries are ignored."""
    found = {}
    for path in folder.iterdir():
        match = _DAY_FOLDER.fullmatch(path.name)
        if match and path.is_dir():
            try:
                found[date.fromisoformat(match[1])] = path
            except ValueError:
                continue
    return dict(sorted(found.items()))


def parts_of(folder: Path) -> tuple[Path, ...]:
    """Return the files of a day, in the order of their numbers."""
    found = [(match, path) for path in folder.iterdir() if (match := _PART.fullmatch(path.name))]
    return tuple(path for match, path in sorted(found, key=lambda pair: int(pair[0][1])))
