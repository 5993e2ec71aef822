from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.traces.replay.some_programs import order, shop
from tests.traces.some_transactions import NOON
from traces.errors import TraceError
from traces.reader import Trace, open_trace
from traces.replay import part
from traces.replay.part import HOUR_US, choose_part
from traces.trace_files import start_of


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Write two days; the second has two transactions in hour 15, and one from 12 to 17 each."""
    begins = [NOON, *(NOON + timedelta(days=1, hours=hour) for hour in (0, 1, 2, 3, 3, 4, 5))]
    rows = [order(number, 1, begin=begin) for number, begin in enumerate(begins)]
    return open_trace(shop(tmp_path / "trace", *rows))


FIRST, SECOND = date(2026, 3, 1), date(2026, 3, 2)


@pytest.mark.parametrize(
    ("day", "hours", "days", "span"),
    [
        (None, None, (FIRST, SECOND), (0, 48)),
        ("all", None, (FIRST, SECOND), (0, 48)),
        ("2026-03-01", None, (FIRST,), (0, 24)),
        ("2026-03-01", "12", (FIRST,), (12, 13)),
        (None, "9-13", (SECOND,), (33, 37)),
        ("2026-03-02", "9:30-12:15", (SECOND,), (33.5, 36.25)),
        ("2026-03-02", "23:00-24", (SECOND,), (47, 48)),
        (None, "peak", (SECOND,), (39, 40)),
        ("2026-03-02", "peak", (SECOND,), (39, 40)),
    ],
)
def test_parts(
    trace: Trace,
    day: str | None,
    hours: str | None,
    days: tuple[date, ...],
    span: tuple[float, float],
) -> None:
    chosen = choose_part(trace, day, hours)
    assert chosen.days == days
    assert (chosen.first_us, chosen.end_us) == tuple(
        start_of(FIRST) + hour * HOUR_US for hour in span
    )


def test_the_default_of_a_large_trace_is_the_peak(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "WHOLE_MAX", 7)
    assert choose_part(trace).words == "2026-03-02, its peak hour 15"


@pytest.mark.parametrize(
    ("day", "hours", "words"),
    [
        ("soon", None, "day='soon': must be a day such as 2026-03-02"),
        ("2026-04-01", None, "has no day 2026-04-01"),
        (None, "24", "hours='24': must be peak"),
        (None, "9-9", "must be peak"),
        (None, "9-25", "must be peak"),
        (None, "noon", "must be peak"),
        (None, "9:30", "must be peak"),
        (None, "9:60-11", "must be peak"),
        (None, "9:30-9:30", "must be peak"),
        (None, "23-24:01", "must be peak"),
        ("all", "peak", "hours=peak: requires a single day"),
    ],
)
def test_invalid_parts(trace: Trace, day: str | None, hours: str | None, words: str) -> None:
    with pytest.raises(TraceError) as caught:
        choose_part(trace, day, hours)
    assert words in str(caught.value)
