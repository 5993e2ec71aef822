"""`heddle nightly` as cron runs it: exit codes and messages."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policies import Signature, save
from tests.trainer.nightly.some_nights import FIRST, TINY, one_day, peak, table, two_days
from trainer.command.main import heddle
from trainer.lock import held
from trainer.nightly.nights import read_night
from trainer.nightly.publish import publish
from trainer.nightly.state import StateFolder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(*typed: str) -> Result:
    return CliRunner().invoke(heddle, ["nightly", "trace=shop", "state=state", *TINY, *typed])


def outcome_of_first(state: StateFolder) -> str:
    night = read_night(state.night(FIRST))
    assert night is not None
    return night.outcome.value


def test_a_damaged_day_is_reported_and_recorded_and_the_champion_stays(
    state: StateFolder, signature: Signature
) -> None:
    trace = one_day(Path("shop"))
    save(table(signature), state.policy)
    champion = state.policy.read_bytes()
    (file,) = trace.glob("day=*/*.parquet")
    file.write_bytes(b"no Parquet")
    done = run()
    assert done.exit_code == 3
    assert done.stdout.startswith("2026-03-01 bad day: ")
    assert "is damaged or not Parquet" in done.stdout
    assert outcome_of_first(state) == "bad day"
    assert state.log.read_text().count("\n") == 1
    assert state.policy.read_bytes() == champion


def test_too_few_sessions_prevent_a_comparison(state: StateFolder) -> None:
    one_day(Path("shop"), sessions=1)
    done = run()
    assert done.exit_code == 4
    assert "fewer than the 2 cores" in done.stdout
    assert outcome_of_first(state) == "nothing to judge"


def test_a_missing_day(state: StateFolder) -> None:
    one_day(Path("shop"))
    done = run("day=2026-03-05")
    assert done.exit_code == 3
    assert "has no day 2026-03-05" in done.stdout


def test_an_interrupted_night_shows_how_to_resume(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    one_day(Path("shop"))
    monkeypatch.setattr("trainer.command.one_night.run_night", interrupted)
    done = run("day=2026-03-01")
    assert done.exit_code == 130
    again = " ".join(["heddle nightly trace=shop state=state", *map(shlex.quote, TINY)])
    assert f"interrupted; resume with: {again} day=2026-03-01" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["nightly", "trace=shop", *TINY, "state=file"],
        ["nightly", "trace=shop", *TINY, "state=file/state"],
        ["nightly", "--backtest", "trace=shop", *TINY, "--days", "1", "state=file"],
        ["evaluate", "policy=silo", "machine=virtual", "machine.cores=2,3", "output=file"],
        ["train", "machine=virtual", "machine.cores=2", "mlflow.enabled=false", "runs_dir=file"],
    ],
)
def test_a_file_instead_of_a_folder_is_reported(words: list[str]) -> None:
    two_days(Path("shop"))
    Path("file").touch()
    done = CliRunner().invoke(heddle, words)
    assert done.exit_code == 2, done.output
    key = words[-1]
    assert f"error: {key}: there is a file in the place of a folder; name a folder" in done.stderr


def test_concurrent_nights_exclude_each_other(state: StateFolder) -> None:
    one_day(Path("shop"))
    with held(state.path):
        done = run()
    assert done.exit_code == 5
    assert "another process uses this folder" in done.stderr


@pytest.mark.slow
def test_roll_back(state: StateFolder, signature: Signature, empty_store: Path) -> None:
    shutil.copytree(empty_store, state.path, dirs_exist_ok=True)
    save(table(signature), state.policy)
    publish(state, table(signature, "ic3"), peak(), 10)
    done = CliRunner().invoke(heddle, ["nightly", "--rollback", "state=state"])
    assert done.exit_code == 0
    assert done.stdout == "rolled back: occ, in place of ic3, trained for 2026-03-01\n"
    again = CliRunner().invoke(heddle, ["nightly", "--rollback", "state=state"])
    assert again.exit_code == 2
    assert "is the first published policy" in again.stderr


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["trace=nowhere"], "there is no such folder"),
        (["trace=null"], "create a trace with heddle trace import"),
        (["state=null"], "names no folder"),
        (["day=soon"], "day=soon: must be a date"),
        (["threshold=-1"], "must not be negative"),
        (["held_out.blocks=2"], "must be at least 3"),
        (["held_out.minutes=60"], "must be at most 59"),
        (["conflict.window_minutes=7"], "must be one of 1, 2, 3"),
        (["workload=tpcc"], "set workload= to replay or shop"),
        (["workload.day=2026-03-01"], "is set by the night"),
        (["workload.exclude=[cart]"], "the night replays all types"),
        (["baselines=[sillo]"], "did you mean silo"),
        (["search.generations=null"], "would never end"),
    ],
)
def test_mistakes_are_reported(state: StateFolder, typed: list[str], words: str) -> None:
    one_day(Path("shop"))
    done = run(*typed)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert not list((state.path / "nights").glob("*/night.json"))


def test_the_folder_of_a_backtest_is_refused(state: StateFolder) -> None:
    one_day(Path("shop"))
    (state.path / "backtest.json").write_text("{}")
    done = run()
    assert done.exit_code == 2
    assert "is the folder of a backtest" in done.stderr
    assert not list((state.path / "nights").iterdir())


def test_a_rollback_creates_no_state_folder() -> None:
    done = CliRunner().invoke(heddle, ["nightly", "--rollback", "state=nowhere"])
    assert done.exit_code == 2
    assert not Path("nowhere").exists()
