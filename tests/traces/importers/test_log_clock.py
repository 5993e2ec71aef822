"""Local times in the nights when clocks are set back or forward."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from traces.errors import TraceError
from traces.importers.access_log import AccessLogImporter
from traces.importers.base import LeftOut
from traces.importers.log_clock import SKIPPED, TWICE, LogClock
from traces.importers.log_times import TimeForm

US = 10**6
LATE_US = 10 * US
NIGHTS = {
    "Europe/Berlin": datetime(2026, 10, 24, 23, 30, tzinfo=UTC),
    "America/New_York": datetime(2026, 11, 1, 4, 30, tzinfo=UTC),
    "Australia/Lord_Howe": datetime(2026, 4, 4, 14, 15, tzinfo=UTC),  # by half an hour
    "America/Santiago": datetime(2026, 4, 5, 2, 30, tzinfo=UTC),  # at midnight
    "Atlantic/Azores": datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
    "Europe/Moscow": datetime(2014, 10, 25, 21, 30, tzinfo=UTC),
}
"""Instants half an hour before a repeated hour begins, or shortly before."""


def local(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S.%f}"


def resolved_in_batches(zone: str, moments: list[datetime], size: int) -> list[datetime]:
    clock, form = LogClock(LATE_US), TimeForm(zone=ZoneInfo(zone))
    found: list[int] = []
    for start in range(0, len(moments), size):
        texts = [local(moment, zone) for moment in moments[start : start + size]]
        times = form.parse(pa.array(texts))
        found += clock.resolve(times.first.to_numpy(), times.second.to_numpy()).us.tolist()
    return [datetime.fromtimestamp(us // US, UTC) + timedelta(microseconds=us % US) for us in found]


@pytest.mark.parametrize("zone", NIGHTS)
@pytest.mark.parametrize("size", [7, 1000])
def test_a_log_advances_through_the_repeated_hour(zone: str, size: int) -> None:
    moments = [NIGHTS[zone] + timedelta(seconds=20 * step) for step in range(600)]
    assert len({local(moment, zone) for moment in moments}) < len(moments)
    assert resolved_in_batches(zone, moments, size) == moments


def test_slightly_late_rows_are_resolved() -> None:
    moments = [NIGHTS["Europe/Berlin"] + timedelta(seconds=5 * step) for step in range(2000)]
    swapped = [moment for pair in zip(moments[1::2], moments[::2], strict=True) for moment in pair]
    assert resolved_in_batches("Europe/Berlin", swapped, 100) == swapped


def test_unambiguous_times_are_no_guess() -> None:
    times = np.array([5, 3, 9])
    resolved = LogClock(LATE_US).resolve(times, times)
    assert resolved.us.tolist() == [5, 3, 9]
    assert not resolved.twice.any()
    assert not resolved.skipped.any()
    assert LogClock(LATE_US).resolve(times[:0], times[:0]).us.tolist() == []


MAPPING = """
time: {column: at, zone: Europe/Berlin}
session: s
gap_ms: 5
"""


def imported(folder: Path, name: str, left_out: LeftOut) -> list[str]:
    (folder / "m.yaml").write_text(MAPPING)
    importer = AccessLogImporter((folder / name,), left_out, folder / "m.yaml")
    rows = [row for table in importer.tables() for row in table.to_pylist()]
    return [f"{row['begin']:%H:%M}" for row in rows]


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_guesses_are_counted(tmp_path: Path, name: str) -> None:
    times = ["2026-10-25 02:10:00", "2026-10-25 02:50:00", "2026-10-25 02:20:00"]
    times.append("2027-03-28 02:30:00")
    if name == "log.csv":
        (tmp_path / name).write_text("\n".join(["at,s", *(f"{time},a" for time in times)]))
    else:
        at = pa.array([datetime.fromisoformat(time) for time in times], pa.timestamp("us"))
        pq.write_table(pa.table({"at": at, "s": ["a"] * 4}), tmp_path / name)
    left_out = LeftOut()
    assert imported(tmp_path, name, left_out) == ["00:10", "00:50", "01:20", "01:30"]
    assert left_out.guessed == {TWICE: 3, SKIPPED: 1}
    assert "2027-03-28" in left_out.named[SKIPPED][0] or name == "log.parquet"
    with pytest.raises(TraceError, match=r"at is .*2026.*10.*25.*leave out --strict to accept"):
        imported(tmp_path, name, LeftOut(strict=True))


@pytest.mark.parametrize("gap_ms", [5, 7_200_000])
@pytest.mark.parametrize(
    ("form", "zone", "name"),
    [("iso", "Europe/Berlin", ""), ("%Y-%m-%d %H:%M:%S %Z", "Europe/Moscow", " MSK")],
)
def test_a_clock_set_back_is_counted_for_any_lateness(
    tmp_path: Path, gap_ms: int, form: str, zone: str, name: str
) -> None:
    day = "2026-10-25 02" if zone == "Europe/Berlin" else "2014-10-26 01"
    times = [f"{day}:{minute}:00{name}" for minute in (50, 45, 10)]
    (tmp_path / "log.csv").write_text("\n".join(["at,s", *(f"{time},a" for time in times)]))
    mapping = f"{{column: at, zone: {zone}, format: '{form}'}}"
    (tmp_path / "m.yaml").write_text(f"time: {mapping}\nsession: s\ngap_ms: {gap_ms}\n")

    def made(left_out: LeftOut) -> int:
        importer = AccessLogImporter((tmp_path / "log.csv",), left_out, tmp_path / "m.yaml")
        return sum(table.num_rows for table in importer.tables())

    left_out = LeftOut()
    assert made(left_out) > 0
    assert left_out.guessed == {TWICE: 3}
    with pytest.raises(TraceError, match="leave out --strict to accept the guess"):
        made(LeftOut(strict=True))
