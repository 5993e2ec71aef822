from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.importers.postgresql.times import LogTimes, UnknownZoneError

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "America/Sao_Paulo"]


def written(moment: datetime) -> str:
    """As PostgreSQL writes a time: with the zone's abbreviation, else its offset."""
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03} {moment.tzname()}"


@given(
    st.lists(st.datetimes(datetime(1990, 1, 1), datetime(2036, 1, 1)), min_size=1),
    st.sampled_from(ZONES),
)
def test_times_come_back(moments: list[datetime], zone: str) -> None:
    """Through both hours of an autumn night that has one of them twice."""
    times = LogTimes(ZoneInfo(zone))
    for moment in moments:
        exact = moment.replace(tzinfo=UTC)
        cut = exact - timedelta(microseconds=exact.microsecond % 1000)
        us = times.us(written(exact.astimezone(ZoneInfo(zone))))
        assert us == (cut - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_the_hour_that_comes_twice() -> None:
    times = LogTimes(ZoneInfo("Europe/Berlin"))
    first = times.us("2026-10-25 02:30:00.000 CEST")
    assert times.us("2026-10-25 02:30:00.000 CET") - first == 3_600_000_000


def test_an_abbreviation_needs_its_zone() -> None:
    with pytest.raises(UnknownZoneError, match=r"'IST'.*--timezone"):
        LogTimes().us("2026-11-21 09:12:31.412 IST")
    with pytest.raises(UnknownZoneError, match=r"'IST'.*Europe/Berlin"):
        LogTimes(ZoneInfo("Europe/Berlin")).us("2026-11-21 09:12:31.412 IST")
    assert LogTimes().us("1970-01-01 01:00:00.005 +01") == 5000


@pytest.mark.parametrize("text", ["", "no time", "2026-13-01 00:00:00.000 UTC", "2026-11-21"])
def test_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="is no time of a log"):
        LogTimes().us(text)
