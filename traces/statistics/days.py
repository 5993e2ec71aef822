"""Valid days, and their peak hours.

The paper removes 6 invalid days of 203 by hand (OSDI 2021, section 7.6.1). Here a day is invalid if

- it has no requests; or
- it has fewer than half of the usual number; or
- it lacks an hour: the hour has no requests, and usually has 20 or more.

The usual number is the median over the days with requests among the day itself, the 14 before it
and the 14 after it, so that the first months of a growing trace stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median

from traces.statistics.hours import HOURS, Hour

NEIGHBOURHOOD = timedelta(days=14)
"""The distance of the days that determine the usual number."""

USUAL_SHARE_MIN = 0.5
"""The share of a day's usual requests below which it is invalid."""

USUAL_HOUR_MIN = 20
"""An hour with this usual number of requests is empty by chance with probability e^-20."""


@dataclass(frozen=True)
class Day:
    """A day of a trace.

    Attributes:
        date: the date (UTC).
        hours: its 24 hours.
        invalid: the reason why it is invalid; None if it is valid.
    """

    date: date
    hours: tuple[Hour, ...]
    invalid: str | None = None

    @property
    def total(self) -> int:
        """The number of requests."""
        return sum(hour.total for hour in self.hours)

    @property
    def peak(self) -> Hour:
        """The hour with the most requests, the first of several."""
        return max(self.hours, key=lambda hour: hour.total)


def validated(days: Sequence[Day]) -> tuple[Day, ...]:
    """Return the days, each with the reason why it is invalid, if it is.

    Args:
        days: consecutive days.
    """
    return tuple(Day(day.date, day.hours, _reason_invalid(day, days)) for day in days)


def valid(days: Sequence[Day]) -> tuple[Day, ...]:
    """Return the days that are valid."""
    return tuple(day for day in days if day.invalid is None)


def _reason_invalid(day: Day, days: Sequence[Day]) -> str | None:
    if day.total == 0:
        return "no requests"
    near = [d for d in days if d.total > 0 and abs(d.date - day.date) <= NEIGHBOURHOOD]
    missing = [
        hour
        for hour in range(HOURS)
        if day.hours[hour].total == 0
        and median(d.hours[hour].total for d in near) >= USUAL_HOUR_MIN
    ]
    if missing:
        return f"no requests {_ranges(missing)}"
    usual = median(d.total for d in near)
    if day.total < USUAL_SHARE_MIN * usual:
        return f"{day.total:,} requests, usually {usual:,.0f}"
    return None


def _ranges(hours: Sequence[int]) -> str:
    """Return hours as ranges: 03:00–07:00, 12:00–13:00."""
    begins = [hour for hour in hours if hour - 1 not in hours]
    ends = [hour + 1 for hour in hours if hour + 1 not in hours]
    return ", ".join(f"{b:02}:00–{e:02}:00" for b, e in zip(begins, ends, strict=True))
