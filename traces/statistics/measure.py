"""Measures the statistics of a trace day by day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from traces.errors import TraceError
from traces.reader import Trace
from traces.statistics.days import Day, valid, validated
from traces.statistics.hours import HourCounter, OtherDayError
from traces.statistics.windows import WINDOW_MINUTES


@dataclass(frozen=True)
class TraceStatistics:
    """The statistics of a trace.

    Attributes:
        name: the name of the trace.
        synthetic: whether the trace is synthetic.
        window_minutes: the window of the conflict rate.
        days: every day from the first to the last, including those without requests.
    """

    name: str
    synthetic: bool
    window_minutes: int
    days: tuple[Day, ...]

    @property
    def valid_days(self) -> tuple[Day, ...]:
        """The valid days."""
        return valid(self.days)

    @property
    def types(self) -> tuple[str, ...]:
        """The transaction types that occur."""
        return tuple(sorted({t for day in self.days for hour in day.hours for t in hour.requests}))


def measure(
    trace: Trace,
    window_minutes: int = WINDOW_MINUTES,
    types: Sequence[str] | None = None,
    report: Callable[[int, str], None] = lambda done, day: None,
    *,
    since: date | None = None,
    until: date | None = None,
    damaged: Callable[[date, TraceError], None] | None = None,
) -> TraceStatistics:
    """Measure each day of a trace, in memory that does not depend on the trace's length.

    Args:
        trace: the trace.
        window_minutes: the window of the conflict rate.
        types: the transaction types that count; None: all.
        report: called after each day with the number of days done and the day.
        since: the first day that is measured; None: the trace's first.
        until: the last day that is measured; None: the trace's last.
        damaged: called with a day that can't be read and the error; the day then counts as one
            without requests. None: such a day is an error.

    Raises:
        TraceError: the trace is empty, lacks a type, or has a damaged file.
    """
    known = [kind.name for kind in trace.manifest.types]
    for name in types or ():
        if name not in known:
            raise TraceError(f"{name}: unknown transaction type; choose from {', '.join(known)}")
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
            report(len(days), f"{day}")
    return TraceStatistics(
        trace.manifest.name, trace.manifest.synthetic, window_minutes, validated(days)
    )


def days_between(first: date, last: date) -> list[date]:
    """Return all days from the first to the last."""
    return [first + timedelta(days=at) for at in range((last - first).days + 1)]


def _measured(trace: Trace, day: date, counter: HourCounter) -> Day:
    import duckdb  # slow to load, and few commands come here

    if day not in trace.days:
        return Day(day, counter.count(day, ()))
    trace.transactions(day)  # opens each file, so that errors of its schema name it
    files = trace.files(day)
    try:
        return Day(day, counter.count(day, files))
    except OtherDayError as error:
        raise TraceError(str(error)) from None
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise TraceError(
            f"{files[0].parent}: can't be read: {reason}; see heddle trace show"
        ) from None
