"""Imports of logs from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.errors import TraceError
from traces.importing import NothingImportedError, import_log

MAPPING = "time: time\nsession: session\ntransaction: id\ntable: table\nkey: row\nkind: op\n"
HEAD = "time,id,session,table,row,op\n"


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "mapping.yaml"
    path.write_text(MAPPING)
    return path


def test_import_returns_the_trace_and_the_rows_left_out(tmp_path: Path, mapping: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        f"{HEAD}2026-03-01T09:00:00,1,a,t,1,read\n2026-03-01T09:00:01,1,a,t,1,update\n"
        "2026-03-01T09:00:02,2,b,t,1,fly\n"
    )
    made = import_log("access-log", [str(log)], str(tmp_path / "out"), mapping=mapping)
    rows = [row for batch in made.trace.batches() for row in batch.to_pylist()]
    assert [len(row["accesses"]) for row in rows] == [2]
    assert made.tally.transactions.total() == 1
    assert made.left_out.counts.total() == 1
    assert made.trace.manifest.name == "out"


def test_an_empty_log_leaves_no_trace(tmp_path: Path, mapping: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"{HEAD}2026-03-01T09:00:02,2,b,t,1,fly\n")
    with pytest.raises(NothingImportedError, match="all rows were left out") as caught:
        import_log("access-log", [log], tmp_path / "out", mapping=mapping)
    assert caught.value.left_out.counts.total() == 1
    assert not (tmp_path / "out").exists()


def test_an_unknown_format_is_rejected_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="unknown format; choose one of ecommerce, access-log"):
        import_log("xml", [], tmp_path / "out")
