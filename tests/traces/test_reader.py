from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.traces.some_transactions import NOON, manifest, row, table, write
from traces.errors import TraceError
from traces.reader import Trace, open_trace
from traces.schema import TRANSACTION, VERSION_KEY

HOUR = timedelta(hours=1)
DAY = NOON.date()
PEEK = {"access": 0, "table": "t", "key": 1, "kind": "peek"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "trace", [row(number, NOON + number * HOUR) for number in range(30)])


@pytest.fixture
def part(folder: Path) -> Path:
    return open_trace(folder).files(DAY)[0]


def read(folder: Path, **options: Any) -> list[dict[str, Any]]:
    return [one for batch in open_trace(folder).batches(**options) for one in batch.to_pylist()]


def fails(folder: Path) -> str:
    with pytest.raises(TraceError) as caught:
        read(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_days_and_files(folder: Path) -> None:
    trace = open_trace(folder)
    assert trace.days == (date(2026, 3, 1), date(2026, 3, 2))
    assert trace.files(DAY) == (folder / "day=2026-03-01" / "part-0.parquet",)
    assert trace.transactions(DAY) == 12
    assert trace.manifest == manifest()


def test_some_days_and_some_columns(folder: Path) -> None:
    found = read(folder, columns=["user", "begin"], days=[date(2026, 3, 2)])
    assert len(found) == 18
    assert list(found[0]) == ["user", "begin"]
    assert found[0]["begin"] == NOON + 12 * HOUR


def test_missing_days_and_columns(folder: Path) -> None:
    with pytest.raises(TraceError, match="has no day 2026-03-09; its days are from 2026-03-01 to"):
        read(folder, days=[date(2026, 3, 9)])
    with pytest.raises(TraceError, match="price: unknown column; choose from transaction, b"):
        read(folder, columns=["price"])


def test_removed_days_and_other_files(folder: Path) -> None:
    shutil.rmtree(folder / "day=2026-03-01")
    (folder / "notes.txt").touch()
    (folder / "day=2026-02-31").mkdir()
    (folder / "day=2026-03-02" / "part-0.parquet.crc").touch()
    assert len(read(folder)) == 18


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: None, "there is no such folder; create a trace with heddle trace import"),
        (lambda folder: folder.touch(), "is not a folder"),
        (lambda folder: folder.mkdir(), "is not a trace: it has no trace.json"),
    ],
)
def test_no_trace(tmp_path: Path, make: Callable[[Path], None], words: str) -> None:
    make(tmp_path / "trace")
    with pytest.raises(TraceError, match=words):
        open_trace(tmp_path / "trace")


def test_a_truncated_file(folder: Path, part: Path) -> None:
    part.write_bytes(part.read_bytes()[:-20])
    assert "part-0.parquet: is damaged or not Parquet: " in fails(folder)


def test_a_file_that_is_something_else(folder: Path, part: Path) -> None:
    part.write_text("transaction,begin\n")
    assert "is damaged or not Parquet" in fails(folder)
    part.unlink()
    part.mkdir()
    assert "part-0.parquet: is not a file" in fails(folder)


def test_a_foreign_parquet_file(folder: Path, part: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), part)
    assert "is not part of a trace: its metadata has no heddle.trace.schema_v" in fails(folder)


def test_an_unknown_version(folder: Path, part: Path) -> None:
    newer = pq.read_table(part, partitioning=None).replace_schema_metadata({VERSION_KEY: b"9"})
    pq.write_table(newer, part)
    assert "has schema version '9'; this Heddle reads version 1" in fails(folder)


def test_columns_that_differ_from_the_schema(folder: Path, part: Path) -> None:
    right = pq.read_table(part, partitioning=None)
    without = right.drop_columns(["user"])
    pq.write_table(without, part)
    assert "column 3: must be pyarrow.Field<user: int64>, not pyarrow.Field<type" in fails(folder)
    pq.write_table(right.append_column("price", right["session"]), part)
    assert "has unknown columns: price" in fails(folder)
    pq.write_table(right.drop_columns(["outcome"]), part)
    assert "column 7: must be pyarrow.Field<outcome" in fails(folder)


def test_damaged_bytes_are_detected_or_irrelevant(folder: Path, part: Path) -> None:
    """Change single bytes at several positions of the file."""
    whole, right = part.read_bytes(), read(folder)
    random = Random(1)
    messages = []
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[random.randrange(len(whole))] ^= 1 << random.randrange(8)
        part.write_bytes(damaged)
        try:
            assert read(folder) == right
        except TraceError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert [one for one in messages if str(part) not in one] == []


def written_by_hand(part: Path, rows: list[dict[str, Any]], per_group: int = 2) -> None:
    """Write values that the writer rejects; the file has the schema, apart from nulls."""
    loose = pa.schema([pa.field(field.name, field.type, nullable=True) for field in TRANSACTION])
    loosely = pa.Table.from_pylist(rows, schema=loose)
    right = pa.Table.from_arrays(loosely.columns, schema=TRANSACTION)
    pq.write_table(right, part, row_group_size=per_group)


@pytest.mark.parametrize(
    ("rows", "place", "words"),
    [
        ([row(1, NOON - 24 * HOUR)], "group 0, row 0", "begin: must be on 2026-03-01 (UTC), not"),
        ([row(1), row(2), row(3, NOON + 13 * HOUR)], "group 1, row 0", "begin: must be on"),
        (
            [row(1), row(2, NOON - HOUR)],
            "group 0, row 1",
            "begin: 2026-03-01T11:00:00+00:00 is",
        ),
        (
            [row(1), row(2), row(3, NOON - HOUR)],
            "group 1, row 0",
            "is before the time of",
        ),
        ([row(1), row(2), row(3), row(1)], "group 1, row 1", "transaction: 1 occurs twice in the"),
        ([row(1, type="steal")], "group 0, row 0", "type: must be one of sale, other, not 'steal'"),
        ([row(1), row(2, outcome="lost")], "group 0, row 1", "outcome: must be one of committed,"),
        (
            [row(1, accesses=[]), row(2, accesses=None), row(3), row(4, accesses=[PEEK])],
            "group 1, row 1",
            "accesses.kind: must be one of read, update, insert, delete, scan, not 'peek'",
        ),
        (
            [row(1, accesses=[{"access": 1, "table": "stock", "key": 1, "kind": "read"}])],
            "group 0, row 0",
            "accesses: access 1 of sale must be update stock, but is read stock",
        ),
        (
            [row(1, accesses=[{"access": 2, "table": "stock", "key": 1, "kind": "read"}])],
            "group 0, row 0",
            "accesses: sale has the accesses 0 to 1, but this is access 2",
        ),
    ],
)
def test_invalid_values(
    folder: Path, part: Path, rows: list[dict[str, Any]], place: str, words: str
) -> None:
    written_by_hand(part, rows)
    message = fails(folder)
    assert message.startswith(f"{part}: row {place}: ")
    assert words in message


def test_invalid_nulls(folder: Path, part: Path) -> None:
    """The file's schema permits them, so the schema itself is invalid."""
    rows = pa.Table.from_pylist(
        [row(1), row(2, session=None)],
        schema=pa.schema(
            [field.with_nullable(True) for field in TRANSACTION], metadata=TRANSACTION.metadata
        ),
    )
    pq.write_table(rows, part)
    assert "column 0: must be pyarrow.Field<transaction: int64 not null>" in fails(folder)


def test_parts_that_overlap_are_merged_in_order(folder: Path, part: Path) -> None:
    rows = [row(number, NOON + timedelta(seconds=number)) for number in range(1000)]
    Random(2).shuffle(rows)
    for number in range(4):
        some = sorted(rows[number::4], key=lambda one: one["begin"])
        pq.write_table(table(some), part.with_name(f"part-{number}.parquet"), row_group_size=50)
    found = read(folder, days=[DAY])
    assert [one["transaction"] for one in found] == list(range(1000))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.pop("name"), "name is missing"),
        (lambda d: d.update(schema_version=2), "schema_version: 2 is not supported; this Heddle"),
        (lambda d: d.update(schema_version="1"), "schema_version: '1' is not supported"),
        (lambda d: d.update(synthetic="no"), "synthetic: must be true or false, not 'no'"),
        (lambda d: d.update(types={}), "types: must be a list, not {}"),
        (lambda d: d["types"].append(d["types"][0]), "types[2].name: must be unique"),
        (
            lambda d: d["types"][0]["accesses"][1].update(kind="x"),
            "types[0].accesses[1].kind: must",
        ),
        (lambda d: d["types"][0]["accesses"][1].update(access=5), "accesses are numbered in order"),
        (lambda d: d["source"].update(files=[3]), "source.files[0]: must be a string"),
        (
            lambda d: d["source"].update(left_out={"views": -1}),
            "source.left_out.views: must be an integer",
        ),
        (lambda d: d["source"].update(left_out=[]), "source.left_out: must be an object"),
        (lambda d: d.update(source=7), "source: must be an object"),
    ],
)
def test_errors_of_a_manifest_name_the_key(
    folder: Path, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    path = folder / "trace.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    message = fails(folder)
    assert message.startswith(f"{path}: ")
    assert words in message


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"7", b"null"])
def test_files_that_are_not_a_manifest(folder: Path, content: bytes) -> None:
    (folder / "trace.json").write_bytes(content)
    assert str(folder / "trace.json") in fails(folder)


def test_a_trace_is_opened_by_text_or_path(folder: Path) -> None:
    assert isinstance(open_trace(str(folder)), Trace)
