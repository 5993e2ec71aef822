"""On a full disk every command has exit code 1, which differs from that of wrong arguments."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from trainer.command.main import heddle

SYNTH = ["trace", "synth", "--days", "1", "--requests-per-day", "100", "shop"]
RECORD = ["workload=ycsb", "workload.records=300", "machine.cores=1", "seconds=0.5"]


def full(*arguments: Any, **named: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def refused(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(heddle, words)
    return done.exit_code, done.stderr


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["trace", "import", "--format", "ecommerce", "log.csv", "shop"],
        SYNTH,
        ["trace", "record", *RECORD, "output=shop"],
    ],
)
@pytest.mark.slow
def test_a_trace_does_not_fit_on_the_disk(
    words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "log.csv").write_text(
        "event_time,event_type,product_id,category_id,category_code,brand,price,user_id,"
        "user_session\n2019-10-01 00:00:00 UTC,cart,7,1,a,b,9.50,3,s\n"
    )
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    code, told = refused(*words)
    assert "shop: can't be written: No space left on device; free disk space there" in told
    assert code == 1
    assert not (here / "shop").exists()


def test_results_do_not_fit_on_the_disk(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(*SYNTH)[0] == 0
    monkeypatch.setattr(Path, "write_text", full)
    code, told = refused("trace", "stats", "shop", "output=stats.json")
    assert "stats.json: can't be written: No space left on device" in told
    assert code == 1


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, 1), (errno.EIO, 1), (errno.EACCES, 2)])
def test_a_full_disk_is_reported_before_measuring(
    number: int, code: int, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(*arguments: Any, **named: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("trainer.command.output.NamedTemporaryFile", answers)
    ended, told = refused("evaluate", "policy=silo", "output=found.json")
    assert f"output=found.json: the directory can't be written to: {os.strerror(number)}" in told
    assert ended == code
