from __future__ import annotations

import errno
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import traces.writer
from tests.scale import scaled
from tests.traces.some_transactions import NOON, manifest, row, table, transactions, write
from traces.errors import TraceError
from traces.manifest import TransactionType
from traces.reader import open_trace
from traces.schema import SCHEMA_VERSION, TRANSACTION, VERSION_KEY
from traces.writer import TraceWriter

HOUR = timedelta(hours=1)


def read(folder: Path) -> list[dict[str, Any]]:
    return [one for batch in open_trace(folder).batches() for one in batch.to_pylist()]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda one: (one["begin"], one["transaction"]))


@settings(max_examples=scaled(20))
@given(transactions(), st.lists(st.integers(0, 12), max_size=3), st.sampled_from([1, 1 << 20]))
def test_written_transactions_are_read(
    rows: list[dict[str, Any]], cuts: list[int], buffered: int
) -> None:
    for one in rows:
        one["type"] = one["type"] or "?"
    types = tuple(TransactionType(name) for name in sorted({one["type"] for one in rows}))
    edges = [0, *sorted(cuts), len(rows)]
    with TemporaryDirectory() as place:
        folder = write(
            Path(place) / "trace",
            *(rows[first:end] for first, end in pairwise(edges)),
            manifest=manifest(types=types),
            buffered_bytes=buffered,
        )
        trace = open_trace(folder)
        found = read(folder)
        assert found == sorted(found, key=lambda one: one["begin"])
        assert in_order(found) == in_order(rows)
        assert set(trace.days) == {one["begin"].date() for one in rows}
        assert sum(trace.transactions(day) for day in trace.days) == len(rows)


def test_files_have_the_schema_its_version_and_the_order(tmp_path: Path) -> None:
    late, early = row(1, NOON), row(2, NOON - HOUR)
    folder = write(tmp_path / "trace", [late, early, row(3, NOON + 24 * HOUR)])
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    assert names == [
        "day=2026-03-01/part-0.parquet",
        "day=2026-03-02/part-0.parquet",
        "trace.json",
    ]
    found = pq.read_table(folder / names[0], partitioning=None)
    assert found.schema.equals(TRANSACTION)
    assert found.schema.metadata[VERSION_KEY] == str(SCHEMA_VERSION).encode()
    assert found["transaction"].to_pylist() == [2, 1]
    group = pq.ParquetFile(folder / names[0]).metadata.row_group(0)
    assert group.column(0).compression == "ZSTD"


def test_late_transactions_get_another_part(tmp_path: Path) -> None:
    rows = [[row(number, NOON + step * HOUR)] for number, step in enumerate([1, 2, -1, 3, 0])]
    folder = write(tmp_path / "trace", *rows, buffered_bytes=1)
    trace = open_trace(folder)
    assert [path.name for path in trace.files(date(2026, 3, 1))] == [
        "part-0.parquet",
        "part-1.parquet",
        "part-2.parquet",
    ]
    assert [one["transaction"] for one in read(folder)] == [2, 4, 0, 1, 3]


def test_many_days_at_a_time_need_few_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces.writer, "OPEN_DAYS_MAX", 2)
    rows = [row(number, NOON + (number % 5) * 24 * HOUR) for number in range(20)]
    folder = write(tmp_path / "trace", *([one] for one in rows), buffered_bytes=1)
    assert in_order(read(folder)) == in_order(rows)


def test_files_and_row_groups_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces.writer, "ROW_GROUP_ROWS", 3)
    monkeypatch.setattr(traces.writer, "PART_ROWS", 10)
    batches = [[row(8 * batch + one, NOON + batch * HOUR) for one in range(8)] for batch in (0, 1)]
    folder = write(tmp_path / "trace", *batches, buffered_bytes=1)
    parts = open_trace(folder).files(NOON.date())
    metadata = [pq.ParquetFile(path).metadata for path in parts]
    assert [one.num_rows for one in metadata] == [8, 8]
    assert [metadata[0].row_group(group).num_rows for group in range(3)] == [3, 3, 2]


def test_an_empty_trace_is_valid(tmp_path: Path) -> None:
    folder = write(tmp_path / "trace", [])
    assert open_trace(folder).days == ()
    assert list(open_trace(folder).batches()) == []


def test_the_trace_appears_at_the_end(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "trace", manifest(), buffered_bytes=1) as writer:
        writer.write(table([row(1)]))
        assert not (tmp_path / "trace").exists()
    assert open_trace(tmp_path / "trace").days


def test_an_error_leaves_no_files(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        TraceWriter(tmp_path / "trace", manifest(), buffered_bytes=1) as writer,
    ):
        _write_and_interrupt(writer)
    assert list(tmp_path.iterdir()) == []


def test_an_unreadable_manifest_leaves_no_files(tmp_path: Path) -> None:
    nameless = replace(manifest(), types=(TransactionType("", ()),))
    with (
        pytest.raises(TraceError, match=r"types\[0\]\.name: must be a string that is not empty"),
        TraceWriter(tmp_path / "trace", nameless),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def _write_and_interrupt(writer: TraceWriter) -> None:
    writer.write(table([row(1)]))
    raise KeyboardInterrupt


def test_a_trace_is_replaced_at_the_end_or_not_at_all(tmp_path: Path) -> None:
    folder = write(tmp_path / "trace", [row(1)])
    with pytest.raises(TraceError, match="already exists; name another folder, or give --replace"):
        write(folder, [row(2)])
    with pytest.raises(TraceError), TraceWriter(folder, manifest(), replace=True) as writer:
        writer.write(table([row(3, accesses=[{**row(3)["accesses"][0], "access": -1}])]))
    assert [one["transaction"] for one in read(folder)] == [1]
    write(folder, [row(2)], replace=True)
    assert [one["transaction"] for one in read(folder)] == [2]
    assert list(tmp_path.iterdir()) == [folder]


def test_only_a_trace_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(TraceError, match="is not a trace and is not replaced"):
        write(tmp_path / "mine", [row(1)], replace=True)
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_replacing_a_link_keeps_its_target(tmp_path: Path) -> None:
    kept = write(tmp_path / "kept", [row(1)])
    (tmp_path / "link").symlink_to(kept)
    write(tmp_path / "link", [row(2)], replace=True)
    assert [one["transaction"] for one in read(kept)] == [1]
    assert [one["transaction"] for one in read(tmp_path / "link")] == [2]


def test_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="there is no directory"):
        write(tmp_path / "nowhere" / "trace", [row(1)])


def test_a_full_disk_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(TraceError, match="can't be written: No space left on device; free"):
        write(tmp_path / "trace", [row(1)])
    assert list(tmp_path.iterdir()) == []


FULL = """
import gc, random, resource, signal, sys
from pathlib import Path
from tests.traces.some_transactions import manifest, row, table
from traces.errors import TraceError
from traces.writer import TraceWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
def told():
    return [{"key": str(random.random()), "value": ""}]

rows = [row(number, parameters=told()) for number in range(500)]
try:
    with TraceWriter(Path(sys.argv[1]), manifest(), buffered_bytes=1) as writer:
        writer.write(table(rows))
except TraceError as error:
    print(error)
gc.collect()
"""


@pytest.mark.parametrize("limit", [100, 5000])
@pytest.mark.slow
def test_a_disk_that_fills_up_is_one_message(tmp_path: Path, limit: int) -> None:
    """The disk is full at any point: in the rows, or at the end of the file."""
    command = [sys.executable, "-c", FULL, str(tmp_path / "trace"), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    assert "can't be written" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_missing_types_and_columns_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the manifest lacks the types sale"):
        write(tmp_path / "trace", [row(1)], manifest=manifest(types=()))
    with (
        pytest.raises(ValueError, match="must have the schema of a trace"),
        TraceWriter(tmp_path / "trace", manifest()) as writer,
    ):
        writer.write(pa.table({"transaction": [1]}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"accesses": [{"access": -1, "table": "t", "key": 1, "kind": "read"}]}, "accesses.access"),
        ({"accesses": [{"access": 0, "table": "t", "key": 1, "kind": "peek"}]}, "accesses.kind"),
        ({"accesses": [{"access": 0, "table": None, "key": 1, "kind": "read"}]}, "accesses.table"),
        ({"accesses": [None]}, "accesses"),
        ({"outcome": "exploded"}, "outcome: must be one of committed, rolled_back, aborted, not"),
        ({"session": None}, "session: is null"),
    ],
)
def test_invalid_values(tmp_path: Path, changed: dict, words: str) -> None:
    with pytest.raises(TraceError, match=f"row 1: {words}"):
        write(tmp_path / "trace", [row(1), row(2, **changed), row(3)])


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.traces.some_transactions import manifest, row, table
from traces.writer import TraceWriter
with TraceWriter(Path(sys.argv[1]), manifest(), buffered_bytes=1) as writer:
    writer.write(table([row(1)]))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_import_removes_files_of_a_killed_one(tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    done = subprocess.run([sys.executable, "-c", KILLED, folder], check=False)
    assert done.returncode == -9
    assert not folder.exists()
    assert len(list(tmp_path.iterdir())) == 1
    write(folder, [row(2)])
    assert list(tmp_path.iterdir()) == [folder]
