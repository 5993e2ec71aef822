from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from traces.statistics.days import Day, valid, validated
from traces.statistics.hours import Hour

FIRST = date(2019, 10, 7)
USUAL = 100


def day(number: int, requests: Callable[[int], int] = lambda hour: USUAL) -> Day:
    """Return a day with this number of requests in each hour."""
    when = FIRST + timedelta(days=number)
    midnight = datetime(when.year, when.month, when.day, tzinfo=UTC)
    return Day(
        when,
        tuple(
            Hour(midnight + timedelta(hours=hour), {"cart": requests(hour)}, 0.5)
            for hour in range(24)
        ),
    )


def test_usual_days_are_valid() -> None:
    days = validated([day(number) for number in range(30)])
    assert valid(days) == days


def test_reasons_of_invalid_days() -> None:
    days = [day(number) for number in range(30)]
    days[3] = day(3, lambda hour: 0)
    days[8] = day(8, lambda hour: 0 if hour in (2, 3, 9) else USUAL)
    days[20] = day(20, lambda hour: USUAL // 2 - 1)
    reasons = {d.date.day: d.invalid for d in validated(days) if d.invalid}
    assert reasons == {
        10: "no requests",
        15: "no requests 02:00–04:00, 09:00–10:00",
        27: "1,176 requests, usually 2,400",
    }


def test_quiet_hours_may_be_empty() -> None:
    """An hour with few usual requests may be empty by chance."""
    days = [day(number, lambda hour: 5 if hour < 6 else USUAL) for number in range(30)]
    days[10] = day(10, lambda hour: 0 if hour < 6 else USUAL)
    assert len(valid(validated(days))) == 30


def test_the_usual_number_may_grow() -> None:
    """The load grows a hundredfold in four months, and all days stay valid."""
    growing = [day(n, lambda hour, n=n: round(USUAL * 1.04**n)) for n in range(120)]
    assert len(valid(validated(growing))) == 120


def test_half_of_the_usual_number_is_valid() -> None:
    days = [day(number) for number in range(30)]
    days[20] = day(20, lambda hour: USUAL // 2)
    assert len(valid(validated(days))) == 30


def test_the_peak_is_the_busiest_hour_and_the_first_of_several() -> None:
    assert day(0, lambda hour: 7 if hour in (9, 20) else 5).peak.begin.hour == 9
    assert day(0, lambda hour: hour).peak.begin.hour == 23
