"""Tables of traces with many types, and with unusual names of types."""

from __future__ import annotations

from datetime import UTC, date, datetime

from traces.output import as_text
from traces.statistics.days import Day
from traces.statistics.hours import Hour
from traces.statistics.measure import TraceStatistics
from traces.statistics.tables import stats_table
from traces.statistics.type_columns import TYPES_SHOWN, TypeColumns
from traces.tally import Tally

BEGIN = datetime(2026, 11, 2, tzinfo=UTC)


def of_types(requests: dict[str, int]) -> TraceStatistics:
    hours = tuple(Hour(BEGIN.replace(hour=hour), requests, None) for hour in range(2))
    return TraceStatistics("a trace", False, 10, (Day(date(2026, 11, 2), hours, None),))


def test_few_types_have_a_column_each() -> None:
    columns = TypeColumns.of(of_types({"pay": 3, "buy\nnow": 4}))
    assert columns.names == ["buy\\nnow", "pay"]
    assert columns.cells(Hour(BEGIN, {"pay": 5}, None)) == ["0", "5", "5"]


def test_many_types_share_a_column() -> None:
    requests = {f"type {number:03}": number for number in range(1, 301)}
    found = of_types(requests)
    columns = TypeColumns.of(found)
    assert columns.names == [
        *(f"type {number:03}" for number in range(300 - TYPES_SHOWN + 2, 301)),
        f"{300 - TYPES_SHOWN + 1} other types",
    ]
    *each, total = (int(cell.replace(",", "")) for cell in columns.cells(*found.days[0].hours))
    assert (sum(each), total) == (2 * sum(requests.values()),) * 2
    assert len(as_text(stats_table(found)).splitlines()[1]) < 200


def test_the_table_of_an_import_is_short() -> None:
    tally = Tally()
    for number in range(300):
        tally.transactions[f"type {number}"] = 300 - number
        tally.accesses[f"type {number}"] = 2 * (300 - number)
    lines = as_text(tally.table(20)).splitlines()
    assert len(lines) < 30
    (others,) = [line.split() for line in lines if "other types" in line]
    assert others[1] == "281"
    assert others[5] == f"{sum(range(1, 282)):,}"
    assert sum("type " in line for line in as_text(tally.table()).splitlines()) == 301


def test_a_name_with_control_characters_is_one_line() -> None:
    tally = Tally()
    tally.transactions["/pay\n\x1b[2Jnow"] = 1
    (line,) = [line for line in as_text(tally.table()).splitlines() if "/pay" in line]
    assert "/pay\\n\\x1b[2Jnow" in line
