"""The measurements of the client library run, and notice updates that are lost."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from heddle_client import Policy
from tests.client.conftest import INSTALL

pytest.importorskip("psycopg", reason=f"psycopg is missing: {INSTALL}")

from engine.bench.client import __main__ as command
from engine.bench.client import sqlite, tasks
from engine.bench.client.closed_loop import Setting
from engine.bench.client.smallbank import Input, transact


@pytest.fixture(autouse=True, scope="module")
def postgresql_is_built() -> None:
    try:
        engine.check_protocol("external", {"store": "postgresql"})
    except ValueError as error:
        pytest.skip(str(error))


SHORT = ["--accounts", "100", "--threads", "4", "--rounds", "1", "--seconds", "0.1"]
SHORT += ["--sweep-rounds", "1", "--sweep-seconds", "0.02"]


def test_each_setting_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    command.main(SHORT)
    printed = capsys.readouterr().out
    swept, _, compared = printed.partition("\n\n")
    assert len(swept.splitlines()) == 1 + 4  # as many at a time as there are threads
    rows = compared.splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["fifo"] + ["smf"] * 2 + ["locks"] * 2 + [
        *("smf", "locks")
    ]


def test_several_processes_with_a_server_and_without(capsys: pytest.CaptureFixture[str]) -> None:
    command.main([*SHORT, "--processes", "2"])
    rows = capsys.readouterr().out.partition("\n\n")[2].splitlines()[1:]
    assert ["server" in row for row in rows] == [False, False, True, False, True, False, True]
    # With locks by a server no attempt aborts: "locks, 16 at a time, a server  …  0.0%".
    assert "0.0%" in rows[-1]


def test_lost_updates_end_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(connection: object, one: Input) -> int:
        return transact(connection, one) + 1  # type: ignore[arg-type]

    monkeypatch.setattr("engine.bench.client.closed_loop.transact", lose)
    monkeypatch.setattr(command, "ordered_settings", lambda _: [Setting("x", Policy("fifo", 2))])
    with pytest.raises(SystemExit, match="updates are lost"):
        command.main(SHORT)


def test_deposits_are_merged(capsys: pytest.CaptureFixture[str]) -> None:
    sqlite.main(["--merge", "16", "--threads", "8", "--transactions", "200"])
    commits = float(capsys.readouterr().out.split(", ")[1].split()[0])
    assert commits < 1


@pytest.mark.parametrize(("driver", "package"), [("asyncpg",) * 2, ("psycopg", "psycopg_pool")])
def test_tasks_are_merged(driver: str, package: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(package, reason=f"{package} is missing: {INSTALL}")
    short = ["--tasks", "8", "--accounts", "100", "--rounds", "2", "--seconds", "0.1"]
    tasks.main([*short, "--driver", driver, "--merge", "4"])
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row[:28].strip() for row in rows] == ["unscheduled", "locks", "locks, groups of 4"]


def test_half_a_transaction_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("asyncpg", reason=f"asyncpg is missing: {INSTALL}")

    async def half(connection: Any, account: int, branch: int, amount: int) -> None:
        await connection.execute("UPDATE branch SET balance = balance + 1")

    monkeypatch.setattr(tasks, "deposit_asyncpg", half)
    with pytest.raises(SystemExit, match="unscheduled: accounts and branches sum to"):
        tasks.main(["--tasks", "2", "--rounds", "1", "--seconds", "0.1"])


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["--threads", "0"], "a whole number of at least 1"),
        (["--seconds", "-1"], "a number of seconds above 0"),
        (["--place", "/nonexistent"], "is no folder"),
        (["--threads", "2", "--processes", "3"], "--processes: must be at most --threads"),
        (["--accounts", "3"], "--hot-accounts: must be at most --accounts"),
    ],
)
def test_a_wrong_argument_is_named_with_the_cure(
    typed: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(typed)
    assert message in capsys.readouterr().err
