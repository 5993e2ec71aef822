"""The statistics of a trace as a whole, day by day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import duckdb

from traces.errors import TraceError
from traces.reader import Trace
from traces.statistics.days import Day, judged, valid
from traces.statistics.hours import HourCounter, OtherDayError
from traces.statistics.windows import WINDOW_MINUTES


@dataclass(frozen=True)
class TraceStatistics:
    """What was measured of a trace.

    Attributes:
        name: the trace's.
        synthetic: whether it was made up.
        window_minutes: of the conflict rate.
        days: every day from the first to the last, those without requests too.
    """

    name: str
    synthetic: bool
    window_minutes: int
    days: tuple[Day, ...]

    @property
    def valid_days(self) -> tuple[Day, ...]:
        """The days that can be used."""
        return valid(self.days)

    @property
    def types(self) -> tuple[str, ...]:
        """The transaction types that occur."""
        return tuple(sorted({t for day in self.days for hour in day.hours for t in hour.requests}))


def measure(
    trace: Trace,
    window_minutes: int = WINDOW_MINUTES,
    types: Sequence[str] | None = None,
    told: Callable[[int, str], None] = lambda done, day: None,
    *,
    since: date | None = None,
    until: date | None = None,
    damaged: Callable[[date, TraceError], None] | None = None,
) -> TraceStatistics:
    """Measure each day of a trace, in memory that its length does not matter for.

    Args:
        trace: any.
        window_minutes: of the conflict rate.
        types: the transaction types that count, None for all.
        told: called after each day, with how many are done and which was the last.
        since: the first day that is measured, None for the trace's first …
        until: … and the last, None for the trace's last.
        damaged: called with a day that can't be read and why; the day counts as one without
            requests then. None where such a day is an error.

    Raises:
        TraceError: the trace is empty, lacks a type, or a file of it is damaged.
    """
    known = [kind.name for kind in trace.manifest.types]
    for name in types or ():
        if name not in known:
            raise TraceError(f"{name}: is no transaction type of the trace; {', '.join(known)} are")
    if not trace.days:
        raise TraceError(f"{trace.folder}: has no transactions")
    days = []
    with HourCounter(window_minutes, types) as counter:
        first = max(trace.days[0], since or trace.days[0])
        last = min(trace.days[-1], until or trace.days[-1])
        for day in days_between(first, last):
            try:
                days.append(_measured(trace, day, counter))
            except TraceError as error:
                if damaged is None:
                    raise
                damaged(day, error)
                days.append(Day(day, counter.count(day, ())))
            told(len(days), f"{day}")
    return TraceStatistics(
        trace.manifest.name, trace.manifest.synthetic, window_minutes, judged(days)
    )


def days_between(first: date, last: date) -> list[date]:
    """Every day of a time, the first and the last included."""
    return [first + timedelta(days=at) for at in range((last - first).days + 1)]


def _measured(trace: Trace, day: date, counter: HourCounter) -> Day:
    if day not in trace.days:
        return Day(day, counter.count(day, ()))
    trace.transactions(day)  # opens each file: what is of another schema is told by name
    files = trace.files(day)
    try:
        return Day(day, counter.count(day, files))
    except OtherDayError as error:
        raise TraceError(str(error)) from None
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise TraceError(
            f"{files[0].parent}: can't be read: {reason}; see heddle trace validate"
        ) from None
