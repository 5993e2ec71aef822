from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scale import scaled
from tests.traces.statistics.naive import HOUR_US, MINUTE_US, Request, conflict_rate
from traces.schema import ACCESS_KINDS, TRANSACTION
from traces.statistics.hours import HourCounter, OtherDayError
from traces.statistics.windows import WINDOWS_MINUTES

DAY = date(2026, 11, 21)
MIDNIGHT_US = int(datetime(2026, 11, 21, tzinfo=UTC).timestamp()) * 1_000_000


def write_day(requests: Sequence[Request], path: Path, first_id: int = 0) -> Path:
    """Write requests as a file of a trace."""
    ordered = sorted(requests, key=lambda request: request.begin)
    rows = [
        {
            "transaction": first_id + number,
            "begin": MIDNIGHT_US + request.begin,
            "session": request.session,
            "user": request.user,
            "type": request.kind,
            "parameters": None,
            "accesses": None
            if request.accesses is None
            else [
                {"access": at, "table": table, "key": key, "kind": kind}
                for at, (table, key, kind) in enumerate(request.accesses)
            ],
            "outcome": None,
        }
        for number, request in enumerate(ordered)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=TRANSACTION), path)
    return path


def cart(begin: int, user: int | None, key: int, kind: str = "update", session: int = 1) -> Request:
    return Request(begin, session, user, "cart", [("product", key, kind)])


def rate(requests: Sequence[Request], tmp_path: Path, hour: int = 0, minutes: int = 5) -> float:
    with HourCounter(minutes, threads=1) as counter:
        found = counter.count(DAY, [write_day(requests, tmp_path / "part-0.parquet")])
    value = found[hour].conflict_rate
    assert value is not None
    return value


# With few users, rows and windows, most examples have conflicts and near misses.
accesses = st.tuples(
    st.sampled_from(["product", "cart"]), st.integers(-1, 2), st.sampled_from(ACCESS_KINDS)
)
requests = st.builds(
    Request,
    begin=st.integers(0, 2 * HOUR_US - 1)
    | st.sampled_from([0, 5 * MINUTE_US - 1, 5 * MINUTE_US, HOUR_US - 1, HOUR_US]),
    session=st.integers(1, 3),
    user=st.none() | st.integers(1, 3),
    kind=st.sampled_from(["cart", "purchase"]),
    accesses=st.none() | st.lists(accesses, max_size=3),
)


@pytest.fixture(scope="module")
def counters() -> Iterator[dict[int, HourCounter]]:
    """Yield counters, by their windows' minutes."""
    with ExitStack() as stack:
        yield {
            minutes: stack.enter_context(HourCounter(minutes, threads=1)) for minutes in (5, 30, 60)
        }


@settings(max_examples=scaled(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(requests, max_size=30), st.sampled_from([5, 30, 60]))
def test_rates_match_the_comparison_of_all_pairs(
    tmp_path: Path, drawn: list[Request], minutes: int
) -> None:
    path = write_day(drawn, tmp_path / "part-0.parquet")
    with HourCounter(minutes, threads=1) as counter:
        found = counter.count(DAY, [path])
    for hour in range(24):
        wanted = conflict_rate(drawn, hour, minutes)
        if wanted is None:
            assert found[hour].conflict_rate is None
        else:
            assert found[hour].conflict_rate == pytest.approx(wanted)
        of_hour = Counter(r.kind for r in drawn if r.begin // HOUR_US == hour)
        assert found[hour].requests == of_hour


def test_the_rate_of_the_paper(tmp_path: Path) -> None:
    """In one of twelve windows, two of three requests are for the same product."""
    found = rate([cart(0, 1, 7), cart(1, 2, 7), cart(2, 3, 8)], tmp_path)
    assert found == pytest.approx(2 / 3 / 12)


def test_requests_of_one_user_do_not_conflict(tmp_path: Path) -> None:
    assert rate([cart(0, 1, 7, session=1), cart(1, 1, 7, session=2)], tmp_path) == 0


def test_the_session_replaces_an_unknown_user(tmp_path: Path) -> None:
    same = [cart(0, None, 7, session=4), cart(1, None, 7, session=4)]
    assert rate(same, tmp_path) == 0
    assert rate([*same, cart(2, None, 7, session=5)], tmp_path) == pytest.approx(1 / 12)


def test_a_session_differs_from_the_user_with_its_number(tmp_path: Path) -> None:
    both = [cart(0, 4, 7, session=1), cart(1, None, 7, session=4)]
    assert rate(both, tmp_path) == pytest.approx(1 / 12)


def test_reads_do_not_conflict(tmp_path: Path) -> None:
    reads = [cart(0, 1, 7, "read"), cart(1, 2, 7, "scan")]
    assert rate(reads, tmp_path) == 0
    assert rate([*reads, cart(2, 1, 7, "delete")], tmp_path) == pytest.approx(2 / 3 / 12)


def test_the_same_key_of_another_table_is_another_row(tmp_path: Path) -> None:
    other = Request(1, 1, 2, "cart", [("orders", 7, "update")])
    assert rate([cart(0, 1, 7), other], tmp_path) == 0


def test_requests_of_two_windows_do_not_conflict(tmp_path: Path) -> None:
    edge = 5 * MINUTE_US
    assert rate([cart(edge - 1, 1, 7), cart(edge, 2, 7)], tmp_path) == 0
    assert rate([cart(edge - 1, 1, 7), cart(edge, 2, 7)], tmp_path, minutes=10) > 0


def test_parts_of_a_day_are_one_day(tmp_path: Path) -> None:
    files = [
        write_day([cart(0, 1, 7)], tmp_path / "part-0.parquet"),
        write_day([cart(1, 2, 7)], tmp_path / "part-1.parquet", first_id=1),
    ]
    with HourCounter(threads=1) as counter:
        found = counter.count(DAY, files)
    assert found[0].total == 2
    assert found[0].conflict_rate == pytest.approx(1 / 12)


def test_only_the_selected_types_count(tmp_path: Path) -> None:
    view = Request(1, 1, 2, "view", [("product", 7, "read")])
    path = write_day([cart(0, 1, 7), view], tmp_path / "part-0.parquet")
    with HourCounter(types=["cart"], threads=1) as counter:
        found = counter.count(DAY, [path])[0]
    assert (found.requests, found.conflict_rate) == ({"cart": 1}, 0.0)
    with HourCounter(threads=1) as counter:
        found = counter.count(DAY, [path])[0]
    assert (found.total, found.conflict_rate) == (2, pytest.approx(1 / 12))


def test_a_day_without_files_has_hours_without_requests() -> None:
    with HourCounter(threads=1) as counter:
        found = counter.count(DAY, [])
    assert [hour.total for hour in found] == [0] * 24
    assert found[23].begin == datetime(2026, 11, 21, 23, tzinfo=UTC)
    assert found[0].conflict_rate is None


def test_a_transaction_of_another_day_is_reported(tmp_path: Path) -> None:
    path = write_day([cart(24 * HOUR_US, 1, 7)], tmp_path / "part-0.parquet")
    with HourCounter(threads=1) as counter, pytest.raises(OtherDayError, match="2026-11-21"):
        counter.count(DAY, [path])


def test_an_interrupted_query_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def execute(self, query: str, values: dict) -> None:
            raise RuntimeError("Query interrupted")

    counter = HourCounter(threads=1)
    counter.close()
    monkeypatch.setattr(counter, "_database", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        counter.count(DAY, [Path("part-0.parquet")])


def test_windows_divide_the_hour() -> None:
    assert WINDOWS_MINUTES == (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60)
    with pytest.raises(ValueError, match="window_minutes=7"):
        HourCounter(7)
