"""A row has the same key whichever program wrote the log, and a missing value is no key."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from traces.errors import TraceError
from traces.importers.access_log import POINTED, AccessLogImporter
from traces.importers.base import LeftOut
from traces.importers.jsonl_rows import HALF, TOO_LONG
from traces.importers.key_columns import NO_VALUE, key_column
from traces.keys import keys_of

MAPPING: dict[str, Any] = {
    "time": {"column": "t", "format": "epoch"},
    "session": "s",
    "gap_ms": 10,
    "table": {"value": "account"},
    "key": "row",
    "kind": {"value": "update"},
}


def keys(log: Path, left_out: LeftOut | None = None, **mapping: Any) -> list[int]:
    """Return the keys of a log in which each row is a transaction."""
    path = log.with_suffix(".yaml")
    path.write_text(yaml.safe_dump({**MAPPING, **mapping}))
    importer = AccessLogImporter((log,), left_out or LeftOut(), path)
    rows = [row for table in importer.tables() for row in table.to_pylist()]
    rows.sort(key=lambda row: row["begin"])
    return [access["key"] for row in rows for access in row["accesses"]]


def csv_log(folder: Path, values: Sequence[str]) -> Path:
    path = folder / "log.csv"
    lines = [f"{n},s{n},{value}" for n, value in enumerate(values)]
    path.write_text("\n".join(["t,s,row", *lines]) + "\n")
    return path


def jsonl_log(folder: Path, values: Sequence[str]) -> Path:
    path = folder / "log.jsonl"
    lines = [f'{{"t": {n}, "s": "s{n}", "row": {value}}}' for n, value in enumerate(values)]
    path.write_text("\n".join(lines))
    return path


def parquet_log(folder: Path, values: pa.Array) -> Path:
    path = folder / "log.parquet"
    times = pa.array(np.arange(len(values)))
    pq.write_table(pa.table({"t": times, "s": times, "row": values}), path)
    return path


SEVENS = [
    *(
        pa.array([7], kind)
        for kind in (pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64())
    ),
    *(pa.array([7], kind) for kind in (pa.float32(), pa.float64())),
    pa.array(np.array([7], np.float16)),
    pa.array([Decimal("7.00")], pa.decimal128(10, 2)),
    pa.array([Decimal("7")], pa.decimal256(60, 0)),
    pa.array(["7"]),
    pa.array(["7.0"], pa.large_string()),
    pa.array([b"7"], pa.binary(1)),
    pa.array(["7"]).dictionary_encode(),
]


@pytest.mark.parametrize("column", SEVENS, ids=lambda column: str(column.type)[:20])
def test_seven_of_any_type_and_width(tmp_path: Path, column: pa.Array) -> None:
    assert keys(parquet_log(tmp_path, column)) == [7]


def test_numbers_of_json(tmp_path: Path) -> None:
    sevens = ["7", "7.0", "7e0", "70e-1", '"7"', '"7.0"']
    assert keys(jsonl_log(tmp_path, sevens)) == [7] * 6
    large = ["9007199254740993", "9007199254740993.0", "9.007199254740993e15"]
    assert keys(jsonl_log(tmp_path, large)) == [9007199254740993] * 3
    beyond = ["100000000000000000000", "1e20", "1.0E+20"]
    assert len(set(keys(jsonl_log(tmp_path, beyond)))) == 1
    assert keys(jsonl_log(tmp_path, ["-0", "-0.0", "0"])) == [0] * 3
    assert len(set(keys(jsonl_log(tmp_path, ["1e999999999", "1e-999999999", "Infinity"])))) == 3


def test_numbers_of_very_many_digits_of_json(tmp_path: Path) -> None:
    same = ["1E401", "10E400", "1e401", "0.1e+402", "1" + "0" * 401]
    left_out = LeftOut(strict=True)
    assert len(set(keys(jsonl_log(tmp_path, same), left_out))) == 1
    unlike = ["1e401", "-1e401", "1.1e401", "1e402", "1e-401"]
    assert len(set(keys(jsonl_log(tmp_path, unlike), left_out))) == 5
    left_out = LeftOut()
    assert len(keys(jsonl_log(tmp_path, ["1e" + "9" * 30]), left_out)) == 1
    assert left_out.guessed == {TOO_LONG: 1}


def test_lone_surrogates_of_json_are_guessed(tmp_path: Path) -> None:
    left_out = LeftOut()
    values = [r'"\ud800"', r'"\ud801"', '"?"', r'"\ud83d\ude00"']
    assert len(set(keys(jsonl_log(tmp_path, values), left_out))) == 4
    assert left_out.guessed == {HALF: 2}
    assert left_out.named[HALF][0] == r"log.jsonl:1: row is '\\ud800'"


def test_durations_of_any_unit_are_one_row() -> None:
    seven = [
        pa.array([7 * 10**power], pa.duration(unit))
        for unit, power in {"s": 0, "ms": 3, "us": 6, "ns": 9}.items()
    ]
    assert {_key(one) for one in seven} == {7}
    half = [pa.array([500], pa.duration("ms")), pa.array([500_000], pa.duration("us"))]
    assert len({_key(one) for one in half}) == 1


def test_halves_of_any_width_are_one_row(tmp_path: Path) -> None:
    columns = [
        *(pa.array([0.1], kind) for kind in (pa.float32(), pa.float64())),
        pa.array([Decimal("0.100")], pa.decimal128(5, 3)),
    ]
    found = {keys(parquet_log(tmp_path, column))[0] for column in columns}
    found |= set(keys(jsonl_log(tmp_path, ["0.1", "0.10", "1e-1"])))
    assert len(found) == 1


def test_no_value_is_no_key(tmp_path: Path) -> None:
    texts = [*NO_VALUE, "", "7"]
    left_out = LeftOut()
    assert keys(csv_log(tmp_path, texts), left_out) == [7]
    assert left_out.counts == {"no key": len(texts) - 1}
    assert keys(jsonl_log(tmp_path, ["NaN", "null", '"NULL"', "7"])) == [7]
    gaps = pa.array([float("nan"), None, 7.0])
    assert keys(parquet_log(tmp_path, gaps)) == [7]
    assert keys(parquet_log(tmp_path, pa.nulls(1))) == []


def test_words_for_no_value_can_be_named(tmp_path: Path) -> None:
    log = csv_log(tmp_path, ["-", "NULL", "null", "7"])
    assert len(set(keys(log, no_value=["-"]))) == 3
    assert keys(log, no_value=["-", "NULL", None]) == [7]
    assert len(set(keys(log, no_value=[]))) == 4


def test_whole_numbers_with_a_point_in_text_are_guessed(tmp_path: Path) -> None:
    """pandas writes a column of integers with a missing value like this."""
    log = csv_log(tmp_path, ["7.0", "", "7", "1.10", "1.1", "007"])
    left_out = LeftOut()
    found = keys(log, left_out)
    assert found[:2] == [7, 7]
    assert len(set(found)) == 4
    assert left_out.guessed == {POINTED: 1}
    assert left_out.named[POINTED] == ["log.csv:2: row is 7.0"]
    with pytest.raises(TraceError, match=r"log\.csv:2: row is 7\.0"):
        keys(log, LeftOut(strict=True))
    assert keys(csv_log(tmp_path, ["-0.0", "0", "-7.0"])) == [0, 0, -7]


def test_a_column_of_numbers_can_be_named(tmp_path: Path) -> None:
    left_out = LeftOut(strict=True)
    log = csv_log(tmp_path, ["7.0", "007", "+7", "7e0", "0x7"])
    assert keys(log, left_out, numbers=["row"]) == [7] * 5
    left_out = LeftOut()
    assert keys(csv_log(tmp_path, ["seven", "", "7"]), left_out, numbers="row") == [7]
    assert left_out.counts == {"no number": 1, "no key": 1}


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"numbers": ["t"]}, "numbers: must be a column of key, session, transaction or user, not"),
        ({"no_value": "NULL"}, "no_value: must be a list of words"),
        ({"no_value": [["a"]]}, "no_value: must be a list of words"),
    ],
)
def test_invalid_mappings(tmp_path: Path, mapping: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        keys(csv_log(tmp_path, ["7"]), **mapping)


def test_times_and_uuids_of_any_width_are_one_row() -> None:
    noon = datetime(2026, 11, 26, 12, 0, 0, 500_000, UTC)
    berlin = noon.astimezone(timezone(timedelta(hours=1)))
    instants = [
        pa.array([noon], pa.timestamp(unit, zone))
        for unit in ("ms", "us", "ns")
        for zone in ("UTC", "Europe/Berlin")
    ]
    assert len({_key(one) for one in [*instants, pa.array([berlin])]}) == 1
    days = [pa.array([date(2026, 11, 26)], kind) for kind in (pa.date32(), pa.date64())]
    assert len({_key(one) for one in [*days, pa.array(["2026-11-26"])]}) == 1
    one = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
    storage = pa.array([one.bytes], pa.binary(16))
    assert _key(pa.ExtensionArray.from_storage(pa.uuid(), storage)) == _key(pa.array([str(one)]))


def _key(column: pa.Array) -> int:
    return int(keys_of(key_column(column))[0].as_py())
