from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.importers.postgresql.imported import imported
from tests.traces.importers.postgresql.logs import write_log
from traces.importers.log_clock import TWICE
from traces.importers.postgresql.times import LogTimes, UnknownZoneError

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "America/Sao_Paulo"]


def written(moment: datetime) -> str:
    """Return a time as PostgreSQL writes it: with the zone's abbreviation, or its offset."""
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03} {moment.tzname()}"


@given(
    st.lists(st.datetimes(datetime(1990, 1, 1), datetime(2036, 1, 1)), min_size=1),
    st.sampled_from(ZONES),
)
def test_times_are_preserved(moments: list[datetime], zone: str) -> None:
    """The times include both hours of an autumn night that has one of them twice."""
    times = LogTimes(ZoneInfo(zone))
    for moment in moments:
        exact = moment.replace(tzinfo=UTC)
        cut = exact - timedelta(microseconds=exact.microsecond % 1000)
        us = times.us(written(exact.astimezone(ZoneInfo(zone))))
        assert us == (cut - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_the_repeated_hour() -> None:
    times = LogTimes(ZoneInfo("Europe/Berlin"))
    first = times.us("2026-10-25 02:30:00.000 CEST")
    assert times.us("2026-10-25 02:30:00.000 CET") - first == 3_600_000_000


def test_ambiguous_times_are_resolved_by_the_order_of_the_log() -> None:
    times = LogTimes(ZoneInfo("Europe/Moscow"))
    written = [f"2014-10-26 0{hour}:{minute}:00.000 MSK" for hour, minute in (
        (0, 50), (1, 10), (1, 50), (1, 10), (1, 50), (2, 10)
    )]  # fmt: skip
    found = []
    for text in written:
        us = times.us(text)
        found.append((f"{datetime.fromtimestamp(us // 10**6, UTC):%H:%M}", times.is_guessed))
    assert found == [
        ("20:50", False),
        *(("21:10", True), ("21:50", True), ("22:10", True), ("22:50", True)),
        ("23:10", False),
    ]
    times = LogTimes(ZoneInfo("Europe/Berlin"))
    times.us("2026-10-25 02:30:00.000 CEST")
    assert not times.is_guessed


def test_ambiguous_times_are_counted(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.csv", [(1, "SELECT * FROM t WHERE id = 1")])
    text = log.read_text().replace("2026-11-26 09:00", "2014-10-26 01:00").replace("UTC", "MSK")
    log.write_text(text)
    left_out = imported(log, timezone="Europe/Moscow").left_out
    assert left_out.guessed[TWICE] == 1
    assert left_out.named[TWICE] == [f"{log}:1: {TWICE}: '2014-10-26 01:00:00.000 MSK'"]


def test_an_abbreviation_needs_its_zone() -> None:
    with pytest.raises(UnknownZoneError, match=r"'IST'.*--timezone"):
        LogTimes().us("2026-11-21 09:12:31.412 IST")
    with pytest.raises(UnknownZoneError, match=r"'IST'.*Europe/Berlin"):
        LogTimes(ZoneInfo("Europe/Berlin")).us("2026-11-21 09:12:31.412 IST")
    assert LogTimes().us("1970-01-01 01:00:00.005 +01") == 5000


@pytest.mark.parametrize("text", ["", "no time", "2026-13-01 00:00:00.000 UTC", "2026-11-21"])
def test_invalid_times(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time of a log"):
        LogTimes().us(text)
