"""The conditions of a day: its peak hour and the contention in it (OSDI 2021, section 7.6.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from traces.errors import TraceError
from traces.reader import Trace
from traces.statistics.days import NEIGHBOURHOOD
from traces.statistics.measure import measure
from trainer.nightly.errors import BadDayError


@dataclass(frozen=True)
class Conditions:
    """The conditions that a policy is trained for.

    Attributes:
        day: the day (UTC).
        hour: the peak hour, 0 to 23 (UTC).
        requests: the number of requests in it.
        conflict_rate: its conflict rate, 0 to 1.
    """

    day: date
    hour: int
    requests: int
    conflict_rate: float

    @property
    def hours(self) -> str:
        """The peak hour as a value of `workload.hours`."""
        return f"{self.hour}:00-{self.hour + 1}:00"

    def as_dict(self) -> dict[str, Any]:
        """Return them for JSON."""
        return asdict(self) | {"day": self.day.isoformat()}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Conditions:
        """Create them from the result of `as_dict`.

        Raises:
            KeyError, TypeError, ValueError: `found` is no such result.
        """
        return cls(
            date.fromisoformat(found["day"]),
            int(found["hour"]),
            int(found["requests"]),
            float(found["conflict_rate"]),
        )


def chosen_day(trace: Trace, typed: str | None) -> date:
    """Return the requested day, or the last one.

    Raises:
        TraceError: the text is not a date.
        BadDayError: the trace is empty.
    """
    if typed is None:
        if not trace.days:
            raise BadDayError(f"{trace.folder}: has no transactions; import a day first")
        return trace.days[-1]
    try:
        return date.fromisoformat(typed)
    except ValueError:
        raise TraceError(f"day={typed}: must be a date such as 2026-03-01") from None


def conditions_of(
    trace: Trace,
    day: date,
    window_minutes: int,
    types: Sequence[str] | None,
    notify: Callable[[str], None] = lambda words: None,
) -> Conditions:
    """Measure a day, without using any later data.

    First the whole day is read and its checksums verified, because the measurement itself would not
    notice all damage. Damaged earlier days are excluded from the usual load.

    Args:
        trace: the trace.
        day: the day (UTC).
        window_minutes: of the conflict rate.
        types: the transaction types that count, None for all.
        notify: called with a message for the user.

    Raises:
        BadDayError: the day is missing, damaged or invalid (`traces.statistics.days`), or the
            accesses of its transactions are unknown.
    """
    if day not in trace.days:
        raise BadDayError(f"{trace.folder}: has no day {day}; import it, or name another day=")

    def left_out(of: date, error: TraceError) -> None:
        if of == day:
            raise error
        notify(f"{of} is excluded from the usual load: {error}")

    since = day - NEIGHBOURHOOD
    try:
        for _ in trace.batches(days=[day]):
            pass
        found = measure(trace, window_minutes, types, since=since, until=day, damaged=left_out)
    except TraceError as error:
        raise BadDayError(f"{day}: {error}") from None
    measured = found.days[-1]
    if measured.invalid is not None:
        raise BadDayError(
            f"{trace.folder}: {day} is invalid: {measured.invalid}; import the day again if it is "
            "incomplete"
        )
    peak = measured.peak
    if peak.conflict_rate is None:
        raise BadDayError(
            f"{trace.folder}: {day}: the accesses of its peak hour are unknown, so it has no "
            "conflict rate; import it with the accesses"
        )
    return Conditions(day, peak.begin.hour, peak.total, peak.conflict_rate)
