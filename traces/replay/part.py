"""Selects the transactions of a trace that are replayed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches

import numpy as np

from traces.errors import TraceError, shown
from traces.order import begins_of
from traces.reader import Trace
from traces.spelling import visible
from traces.trace_files import DAY_US, start_of

HOUR_US = DAY_US // 24
MINUTE_US = HOUR_US // 60
DAY_MINUTES = 24 * 60
WHOLE_MAX = 1_000_000
"""Smaller traces are replayed as a whole by default."""

ALL = "all"
PEAK = "peak"
_HOURS = re.compile(r"(\d{1,2})(:\d\d)?(?:-(\d{1,2})(:\d\d)?)?")


@dataclass(frozen=True)
class Part:
    """A span of time, and the types that are left out of it.

    Attributes:
        first_us: start, microseconds since 1970 (UTC).
        end_us: end, exclusive, microseconds since 1970 (UTC).
        days: the days of the trace that it includes.
        words: text for people, such as `2026-03-01, hours 9 to 12`.
        excluded: the transaction types that are not replayed.
    """

    first_us: int
    end_us: int
    days: tuple[date, ...]
    words: str
    excluded: tuple[str, ...] = ()


def choose_part(
    trace: Trace, day: str | None = None, hours: str | None = None, exclude: Sequence[str] = ()
) -> Part:
    """Return the part that `day` and `hours` select, without the types in `exclude`.

    Args:
        trace: the trace.
        day: a day (UTC), such as 2026-03-01, or `all`. None: the whole trace if it is small and no
            hours are given, otherwise the last day.
        hours: hours of the day (UTC), such as `9`, `9-12` (until 12 o'clock), `9:20-9:40`, or
            `peak`, the hour with the most transactions. None: the whole day if one is given,
            otherwise the peak hour.
        exclude: names of transaction types.

    Raises:
        TraceError: a value is invalid, or the trace has no such day or type.
    """
    if not trace.days:
        raise TraceError(f"{trace.folder}: has no transactions; import the trace again")
    _refuse_unknown(trace, exclude)
    return replace(_span(trace, day, hours), excluded=tuple(sorted(set(exclude))))


def _refuse_unknown(trace: Trace, exclude: Sequence[str]) -> None:
    known = [type_.name for type_ in trace.manifest.types]
    for name in exclude:
        if name not in known:
            near = get_close_matches(name, known, 1)
            meant = f"; did you mean {visible(near[0])}?" if near else ""
            raise TraceError(
                f"exclude={shown(name)}: the trace has no such type{meant}\n"
                f"types: {', '.join(map(visible, known))}"
            )


def _span(trace: Trace, day: str | None, hours: str | None) -> Part:
    small = sum(trace.transactions(each) for each in trace.days) <= WHOLE_MAX
    if day == ALL or (day is None and hours is None and small):
        if hours is not None:
            raise TraceError(f"hours={hours}: requires a single day; set day=")
        first, last = trace.days[0], trace.days[-1]
        words = f"{first}" if first == last else f"{first} to {last}"
        return Part(start_of(first), start_of(last) + DAY_US, trace.days, words)
    chosen = trace.days[-1] if day is None else _day(trace, day)
    if hours is None and day is not None:
        return Part(start_of(chosen), start_of(chosen) + DAY_US, (chosen,), f"{chosen}")
    if hours in (None, PEAK):
        hour = peak_hour(trace, chosen)
        return _minutes_of(chosen, hour * 60, hour * 60 + 60, f"{chosen}, its peak hour {hour}")
    begin, end = _minutes(str(hours))
    words = f"{chosen}, hours {_clock(begin)} to {_clock(end)}"
    return _minutes_of(chosen, begin, end, words)


def peak_hour(trace: Trace, day: date) -> int:
    """Return the hour (UTC) of a day with the most transactions, the first of several."""
    counts = np.zeros(24, np.int64)
    for batch in trace.batches(["begin"], [day]):
        hours = (begins_of(batch) - start_of(day)) // HOUR_US
        counts += np.bincount(hours, minlength=24)
    return int(counts.argmax())


def _day(trace: Trace, text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise TraceError(f"day={shown(text)}: must be a day such as {trace.days[-1]}") from None
    trace.files(day)
    return day


def _minutes(text: str) -> tuple[int, int]:
    """Return the minutes of the day at which a span begins and ends."""
    match = _HOURS.fullmatch(text)
    if match and (match[3] or not match[2]):
        first = _minute(match[1], match[2])
        end = _minute(match[3], match[4]) if match[3] else first + 60
        if first < end <= DAY_MINUTES:
            return first, end
    raise TraceError(
        f"hours={shown(text)}: must be {PEAK}, an hour from 0 to 23, or a span such as 9-12 or "
        "9:20-9:40"
    )


def _minute(hour: str, minute: str | None) -> int:
    """Return the minute of the day; an invalid minute gives one after its end."""
    past = int(minute[1:]) if minute else 0
    return int(hour) * 60 + past if past < 60 else DAY_MINUTES + 1


def _clock(minute: int) -> str:
    hour, past = divmod(minute, 60)
    return f"{hour}:{past:02}" if past else f"{hour}"


def _minutes_of(day: date, first: int, end: int, words: str) -> Part:
    midnight = start_of(day)
    return Part(midnight + first * MINUTE_US, midnight + end * MINUTE_US, (day,), words)
