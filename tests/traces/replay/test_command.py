from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.traces.replay.some_programs import day, order, shop
from tests.traces.some_transactions import NOON, row
from traces.command import trace
from traces.errors import TraceError
from traces.replay.prepared import cache_folder, prepared_program


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return shop(tmp_path / "shop", *day(), row(5000, NOON.replace(hour=23), type="chat"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(trace, ["replay", *arguments])


def test_a_program_is_made_once(folder: Path) -> None:
    first = prepared_program(folder)
    assert first.parent == cache_folder()
    before = first.stat().st_mtime_ns
    assert prepared_program(folder) == first
    assert first.stat().st_mtime_ns == before
    assert prepared_program(folder, hours="12") != first
    assert prepared_program(folder, exclude=("cancel",)) != first


def test_an_unwritable_home(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is below a file, so that root can't write to it either."""
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("traces.replay.prepared.gettempdir", lambda: str(tmp_path / "temporary"))
    made = prepared_program(folder)
    assert (tmp_path / "temporary") in made.parents
    assert prepared_program(folder) == made
    monkeypatch.setattr("traces.replay.prepared.gettempdir", lambda: str(tmp_path / "file"))
    with pytest.raises(TraceError, match="set XDG_CACHE_HOME to a writable"):
        prepared_program(folder)


def test_a_replaced_trace_gets_another_program(folder: Path, tmp_path: Path) -> None:
    first = prepared_program(folder)
    folder.rename(tmp_path / "old")
    shop(folder, order(1, 1))
    assert prepared_program(folder) != first


def test_the_report_has_mix_and_skew_and_conflict_rate(folder: Path) -> None:
    result = run(str(folder))
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    assert "shop, 2026-03-01 (UTC): 300 transactions in 10 sessions" in words
    assert "order │ 225 │ 74.8% │ 225 │ 75.0%" in words
    assert "cancel │ 75 │ 24.9% │ 75 │ 25.0%" in words
    assert "chat │ 1 │ 0.3% │ 0 │ 0.0%" in words
    assert "left out: 1 transaction" in words
    assert "Conflict rate, by session, in five minutes:" in words
    skew = next(line for line in result.output.splitlines() if "goods" in line)
    cells = [cell.strip() for cell in skew.replace("┃", "│").split("│")[2:-1]]
    assert cells[:3] == cells[3:]


def test_the_report_has_the_rate_of_arrivals(tmp_path: Path, folder: Path) -> None:
    lines = run(str(folder)).output.splitlines()
    assert (
        "Arrivals: 1 a second in 299 s, 1 in the busiest second. With workload.arrivals=recorded "
        "workload.speed=10000 they are 10,000 a second, and a round takes 0.0299 s"
    ) in lines
    bursts = [order(n, n, begin=NOON + timedelta(seconds=n // 4)) for n in range(41)]
    words = run(str(shop(tmp_path / "bursts", *bursts))).output
    assert "Arrivals: 4 a second in 10 s, 4 in the busiest second." in words
    at_once = run(str(shop(tmp_path / "at once", order(1, 1), order(2, 2)))).output
    assert "Arrivals: all at the same time" in at_once


def test_a_program_is_written_to_the_output(folder: Path, tmp_path: Path) -> None:
    program = tmp_path / "x.program"
    where = ("--day", "2026-03-01", "--hours", "peak", "--output", str(program))
    result = run(str(folder), *where)
    assert result.exit_code == 0, result.output
    assert f"program: {program}" in result.output
    assert program.is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere: there is no such folder"),
        (["shop", "--hours", "x"], "hours='x'"),
        (["shop", "--output", "no/folder"], "output no/folder"),
        (["shop", "--day", "2027-01-01"], "has no day 2027-01-01"),
        (["shop", "--hours", "3"], "choose another day= or hours="),
    ],
)
def test_errors_are_one_message(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert len(result.output.splitlines()) == 1


def test_a_cache_that_cannot_be_created_is_reported(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("traces.replay.prepared.gettempdir", lambda: str(tmp_path / "file"))
    result = run(str(folder))
    assert result.exit_code == 2
    assert "can't be created" in result.output
