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
    """What a policy is trained for.

    Attributes:
        day: UTC.
        hour: the peak hour, 0 to 23 (UTC).
        requests: in it.
        conflict_rate: of it, 0 to 1.
    """

    day: date
    hour: int
    requests: int
    conflict_rate: float

    @property
    def hours(self) -> str:
        """The peak hour as `workload.hours` takes it."""
        return f"{self.hour}:00-{self.hour + 1}:00"

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self) | {"day": self.day.isoformat()}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Conditions:
        """As `as_dict` gave it.

        Raises:
            KeyError, TypeError, ValueError: it did not.
        """
        return cls(
            date.fromisoformat(found["day"]),
            int(found["hour"]),
            int(found["requests"]),
            float(found["conflict_rate"]),
        )


def chosen_day(trace: Trace, typed: str | None) -> date:
    """The day that was asked for, or the last.

    Raises:
        TraceError: it is no day.
        BadDayError: the trace is empty.
    """
    if typed is None:
        if not trace.days:
            raise BadDayError(f"{trace.folder}: has no transactions; import the day's first")
        return trace.days[-1]
    try:
        return date.fromisoformat(typed)
    except ValueError:
        raise TraceError(f"day={typed}: is no day; such as 2026-03-01") from None


def conditions_of(
    trace: Trace,
    day: date,
    window_minutes: int,
    types: Sequence[str] | None,
    told: Callable[[str], None] = lambda words: None,
) -> Conditions:
    """Measure a day, as it looked on its evening: what came later is not looked at.

    All of the day is read first, and every sum in it checked: what is measured reads on over
    damage that still makes numbers. A day before it that is damaged is left out of what is usual.

    Args:
        trace: of which.
        day: which (UTC).
        window_minutes: of the conflict rate.
        types: the transaction types that count, None for all.
        told: called with a message for people.

    Raises:
        BadDayError: the day is missing, damaged or invalid (`traces.statistics.days`), or the rows
            that its transactions touched are not known.
    """
    if day not in trace.days:
        raise BadDayError(f"{trace.folder}: has no day {day}; import it, or name another with day=")

    def left_out(of: date, error: TraceError) -> None:
        if of == day:
            raise error
        told(f"{of} is left out of what is usual: {error}")

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
            f"{trace.folder}: {day} can't be used: {measured.invalid}; import the day anew if it "
            "is not whole"
        )
    peak = measured.peak
    if peak.conflict_rate is None:
        raise BadDayError(
            f"{trace.folder}: {day}: nothing is known of what the transactions of its peak hour "
            "accessed, so it has no conflict rate; import it with the accesses"
        )
    return Conditions(day, peak.begin.hour, peak.total, peak.conflict_rate)
