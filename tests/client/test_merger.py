"""Transactions that are merged: what commits, what is raised to whom, and what runs again."""

from __future__ import annotations

import ctypes
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from heddle_client import InDoubtError, Merger, NestedTransactionError, Scheduler
from tests.client.conftest import INSTALL
from tests.scale import scaled

MERGE = 8

LOST_COMMIT = """
CREATE FUNCTION lose() RETURNS trigger AS $$
BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE CONSTRAINT TRIGGER lose AFTER UPDATE ON account DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.id = 3) EXECUTE FUNCTION lose();
"""
"""The server ends a connection in the commit of an update of account 3."""


class Database:
    """Connections of a driver to a database with four accounts of 1,000, and its commits."""

    def __init__(self, connect: Callable[[], Any], placeholder: str) -> None:
        self._open = connect
        self._mark = placeholder
        self._own = threading.local()
        self._connections: list[Any] = []
        self.begun = 0

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """The connection of this thread."""
        self.begun += 1
        connection = getattr(self._own, "connection", None)
        if connection is None or getattr(connection, "closed", False):
            connection = self._own.connection = self._open()
            self._connections.append(connection)
        yield connection

    @contextmanager
    def new_connection(self) -> Iterator[Any]:
        """One that nothing refers to after an interrupt, which closes it."""
        with closing(self._open()) as connection:
            yield connection

    def add(self, connection: Any, account: int, amount: int) -> int:
        """Read a balance and write it, as an application does."""
        query = f"SELECT balance FROM account WHERE id = {self._mark}"
        (balance,) = connection.execute(query, (account,)).fetchone()
        update = f"UPDATE account SET balance = {self._mark} WHERE id = {self._mark}"
        connection.execute(update, (balance + amount, account))
        return balance + amount

    def balances(self) -> list[int]:
        with closing(self._open()) as connection:
            rows = connection.execute("SELECT balance FROM account ORDER BY id")
            return [balance for (balance,) in rows.fetchall()]

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


def of_sqlite(path: Path) -> Database:
    def connect() -> sqlite3.Connection:
        found = sqlite3.connect(path, timeout=60, check_same_thread=False)
        found.execute("PRAGMA synchronous = OFF")
        found.execute("PRAGMA foreign_keys = ON")
        return found

    with closing(connect()) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, "
            "parent INTEGER REFERENCES account DEFERRABLE INITIALLY DEFERRED)"
        )
        connection.executemany(
            "INSERT INTO account VALUES (?, 1000, NULL)", [(number,) for number in range(4)]
        )
    return Database(connect, "?")


def of_postgresql(address: str) -> Database:
    import psycopg

    def connect() -> Any:
        found = psycopg.connect(address)
        found.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        return found

    with psycopg.connect(address) as connection:
        connection.execute(
            "ALTER TABLE account ADD parent int REFERENCES account DEFERRABLE INITIALLY DEFERRED"
        )
    return Database(connect, "%s")


@pytest.fixture(name="database", params=["sqlite3", "psycopg"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite3":
        found = of_sqlite(tmp_path / "bank.sqlite")
    else:
        pytest.importorskip("psycopg", reason=f"psycopg is missing: {INSTALL}")
        found = of_postgresql(request.getfixturevalue("bank"))
    yield found
    found.close()


@pytest.fixture(name="postgresql_bank")
def opened_postgresql(bank: str) -> Iterator[Database]:
    found = of_postgresql(bank)
    yield found
    found.close()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "the condition does not become true"
        time.sleep(0.001)


def idle(merger: Merger) -> bool:
    metrics, groups = merger._scheduler.metrics(), merger._groups
    return not (metrics.running or metrics.waiting or groups.queue or len(groups.running))


def in_a_group(
    merger: Merger, functions: list[Callable[[Any], Any]], between: Callable[[], None] | None = None
) -> list[Future]:
    """Run functions in one group, in their order: another call holds the place until all wait."""
    held, let_go = threading.Event(), threading.Event()

    def hold(_: Any) -> None:
        held.set()
        assert let_go.wait(20)

    with ThreadPoolExecutor(len(functions) + 1) as pool:
        first = pool.submit(merger.run, "hold", hold)
        assert held.wait(20)
        found = []
        for number, function in enumerate(functions, 1):
            found.append(pool.submit(merger.run, "pay", function, keys=[1]))
            until(lambda number=number: len(merger._groups.queue) == number)
        if between is not None:
            between()
        let_go.set()
        first.result(20)
    return found


@pytest.mark.parametrize("mode", ["fifo", "smf", "locks"])
@pytest.mark.parametrize("concurrency", [None, 2])
def test_merged_transactions_lose_no_update(
    database: Database, mode: str, concurrency: int | None
) -> None:
    merger = Merger(Scheduler(mode=mode, concurrency=concurrency, merge=MERGE), database.connection)
    number = scaled(20)

    def add(connection: Any, account: int) -> None:
        database.add(connection, account, 1)
        time.sleep(0.001)  # other calls come

    def work(thread: int) -> None:
        for turn in range(number):
            account = (thread + turn) % 4
            keys = [("account", account)]
            for _ in range(1_000):
                try:
                    merger.run("add", add, account, keys=keys)
                    break
                except Exception as error:
                    if getattr(error, "sqlstate", None) != "40001":
                        raise

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sum(database.balances()) == 4_000 + 8 * number
    metrics = merger._scheduler.metrics()
    assert metrics.merged > metrics.groups > 0
    assert metrics.failed_open == 0
    assert idle(merger)
    if mode == "locks":  # no group fails, so each transaction of the database is a commit
        assert database.begun < 8 * number


def test_a_call_of_a_group_sees_those_before_it(database: Database) -> None:
    merger = Merger(Scheduler(merge=MERGE), database.connection)
    calls = [lambda connection: database.add(connection, 1, 5)] * 3
    assert [one.result() for one in in_a_group(merger, calls)] == [1005, 1010, 1015]
    metrics = merger._scheduler.metrics()
    assert (metrics.groups, metrics.merged, metrics.started) == (1, 3, 2)
    assert database.balances()[1] == 1015


def test_what_a_function_raises_undoes_it_alone(database: Database) -> None:
    merger = Merger(Scheduler(merge=MERGE), database.connection)
    runs = []

    def fail(connection: Any) -> None:
        runs.append(1)
        database.add(connection, 1, 100)
        raise ZeroDivisionError

    def wrong(connection: Any) -> None:
        runs.append(1)
        database.add(connection, 1, 100)
        connection.execute("SELECT balance FROM nowhere")

    def hidden(connection: Any) -> int:
        try:
            wrong(connection)
        except Exception:
            return 7
        return 8

    def add(connection: Any) -> int:
        return database.add(connection, 1, 1)

    first, failed, second, refused, concealed, last = in_a_group(
        merger, [add, fail, add, wrong, hidden, add]
    )
    with pytest.raises(ZeroDivisionError):
        failed.result()
    with pytest.raises(Exception, match="nowhere"):
        refused.result()
    # PostgreSQL does nothing more after an error; SQLite keeps what was done before it.
    if database._mark == "?":
        assert concealed.result() == 7
        assert last.result() == 1103
    else:
        with pytest.raises(Exception, match="current transaction is aborted"):
            concealed.result()
        assert last.result() == 1003
    assert (first.result(), second.result()) == (1001, 1002)
    assert len(runs) == 3
    assert database.balances()[1] == last.result()
    assert merger._scheduler.metrics().failed_groups == 0


def test_a_group_whose_commit_is_refused_runs_one_by_one(database: Database) -> None:
    merger = Merger(Scheduler(merge=MERGE), database.connection)
    runs = []

    def orphan(connection: Any) -> None:
        runs.append("orphan")
        connection.execute("UPDATE account SET parent = 77 WHERE id = 2")

    def add(connection: Any) -> int:
        runs.append("add")
        return database.add(connection, 1, 1)

    first, refused, last = in_a_group(merger, [add, orphan, add])
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        refused.result()
    assert sorted([first.result(), last.result()]) == [1001, 1002]
    assert sorted(runs) == ["add"] * 4 + ["orphan"] * 2
    assert database.balances() == [1000, 1002, 1000, 1000]
    assert (merger._scheduler.metrics().groups, merger._scheduler.metrics().failed_groups) == (0, 1)
    assert idle(merger)


def test_a_conflict_undoes_the_group_and_each_runs_again(postgresql_bank: Database) -> None:
    database = postgresql_bank
    merger = Merger(Scheduler(merge=MERGE), database.connection)
    runs = []

    def conflicting(connection: Any) -> int:
        runs.append(1)
        connection.execute("SELECT 1 FROM account").fetchone()
        if len(runs) == 1:
            with closing(database._open()) as other, other:
                database.add(other, 2, 50)
        return database.add(connection, 2, 1)

    first, second = in_a_group(
        merger, [lambda connection: database.add(connection, 1, 1), conflicting]
    )
    assert (first.result(), second.result(), len(runs)) == (1001, 1051, 2)
    assert merger._scheduler.metrics().failed_groups == 1


def test_after_a_lost_connection_nothing_runs_again(postgresql_bank: Database) -> None:
    database = postgresql_bank
    merger = Merger(Scheduler(merge=MERGE), database.connection)
    runs = []

    def add(connection: Any) -> int:
        runs.append(1)
        return database.add(connection, 1, 1)

    def lose(connection: Any) -> None:
        (process,) = connection.execute("SELECT pg_backend_pid()").fetchone()
        with closing(database._open()) as other:
            other.execute("SELECT pg_terminate_backend(%s, 10000)", (process,))
        add(connection)

    for one in in_a_group(merger, [add, lose, add]):
        with pytest.raises(InDoubtError, match="read what it would have written"):
            one.result()
    assert len(runs) == 2
    assert database.balances()[1] == 1000
    assert merger.run("add", database.add, 1, 1, keys=[1]) == 1001
    assert idle(merger)


def test_a_connection_that_is_lost_in_the_commit(postgresql_bank: Database) -> None:
    """The server has answered with an error, but it may have committed."""
    database = postgresql_bank
    with closing(database._open()) as connection, connection:
        connection.execute(LOST_COMMIT)
    merger = Merger(Scheduler(merge=MERGE), database.connection)
    runs = []

    def add(connection: Any) -> int:
        runs.append(1)
        return database.add(connection, 3, 1)

    for one in in_a_group(merger, [add, add]):
        with pytest.raises(InDoubtError):
            one.result()
    with pytest.raises(InDoubtError):
        merger.run("add", add, keys=[1])
    assert len(runs) == 3
    assert database.balances()[3] == 1000
    assert idle(merger)


def test_a_function_may_raise_stop_iteration(database: Database) -> None:
    merger = Merger(Scheduler(merge=MERGE), database.connection)

    def stop(connection: Any) -> int:
        database.add(connection, 1, 100)
        return next(iter(()))

    stopped, done = in_a_group(merger, [stop, lambda one: database.add(one, 1, 1)])
    with pytest.raises(StopIteration):
        stopped.result()
    assert done.result() == 1001
    with pytest.raises(StopIteration):
        merger.run("stop", stop)
    assert database.balances()[1] == 1001


def test_a_function_that_commits_leaves_the_group_in_doubt(database: Database) -> None:
    merger = Merger(Scheduler(merge=MERGE), database.connection)
    runs = []

    def add(connection: Any) -> int:
        runs.append(1)
        return database.add(connection, 1, 1)

    def commit(connection: Any) -> None:
        connection.execute("COMMIT")

    for one in in_a_group(merger, [add, commit, add]):
        with pytest.raises(InDoubtError, match="'pay' has ended the transaction"):
            one.result()
    assert len(runs) == 1
    assert database.balances()[1] == 1001
    assert merger.run("add", database.add, 1, 1, keys=[1]) == 1002


def test_psycopg_refuses_a_commit_inside(postgresql_bank: Database) -> None:
    database = postgresql_bank
    merger = Merger(Scheduler(merge=MERGE), database.connection)
    first, refused = in_a_group(
        merger,
        [lambda connection: database.add(connection, 1, 1), lambda connection: connection.commit()],
    )
    assert first.result() == 1001
    with pytest.raises(Exception, match="Explicit commit"):
        refused.result()


def test_switched_off_each_runs_by_itself(postgresql_bank: Database) -> None:
    database = postgresql_bank
    scheduler = Scheduler(mode="locks", merge=MERGE)
    merger = Merger(scheduler, database.connection)
    done = []

    def switch_off() -> None:
        scheduler.enabled = False
        until(lambda: len(done) == 3)  # while the first still holds the place

    def add(connection: Any, account: int) -> None:
        database.add(connection, account, 1)
        connection.execute("SELECT 1")
        done.append(account)

    calls = [lambda connection, a=account: add(connection, a) for account in range(3)]
    for one in in_a_group(merger, calls, switch_off):
        one.result()
    assert (scheduler.metrics().groups, scheduler.metrics().passed_through) == (0, 3)
    assert merger.run("add", database.add, 3, 1) == 1001


def test_it_fails_open(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    merger = Merger(Scheduler(merge=MERGE), database.connection)

    def fail() -> None:
        raise MemoryError

    monkeypatch.setattr(merger._groups, "start", fail)
    assert merger.run("add", database.add, 1, 1, keys=[1]) == 1001
    assert merger._scheduler.metrics().failed_open == 1
    assert idle(merger)


def test_inside_another_transaction(database: Database) -> None:
    scheduler = Scheduler(merge=MERGE)
    merger = Merger(scheduler, database.connection)
    with scheduler.transaction("outer", keys=[1]):
        assert merger.run("add", database.add, 1, 1, keys=[1]) == 1001
    assert scheduler.metrics().passed_through == 1
    scheduler = Scheduler(mode="locks", merge=MERGE)
    merger = Merger(scheduler, database.connection)
    with scheduler.transaction("outer"), pytest.raises(NestedTransactionError):
        merger.run("add", database.add, 1, 1, keys=[1])
    assert idle(merger)


def test_connections_of_other_drivers_are_refused() -> None:
    @contextmanager
    def connect() -> Iterator[object]:
        yield object()

    merger = Merger(Scheduler(merge=MERGE), connect)
    with pytest.raises(TypeError, match=r"a builtins\.object: give connections of psycopg"):
        merger.run("add", lambda connection: None)


class Interrupt(BaseException):
    """As KeyboardInterrupt."""


def test_interrupts_lose_no_call_and_leave_none_waiting(tmp_path: Path) -> None:
    """All that was acknowledged has committed; what an interrupt has hit may have."""
    database = of_sqlite(tmp_path / "bank.sqlite")
    merger = Merger(Scheduler(mode="locks", merge=MERGE), database.new_connection)
    end = threading.Event()
    acknowledged, unknown, caught = [0] * 6, [0] * 6, [0] * 6

    def work(number: int) -> None:
        started = False
        try:
            while not end.is_set():
                started = True
                merger.run("add", database.add, 1, 1, keys=[1])
                started = False
                acknowledged[number] += 1
        except Interrupt:
            caught[number] += 1
            unknown[number] += 1
        except (InDoubtError, sqlite3.Error):
            unknown[number] += started

    def guarded(number: int) -> None:
        while not end.is_set():
            try:
                work(number)
            except Interrupt:
                caught[number] += 1
                unknown[number] += 1

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    chance = random.Random(9)
    deadline = time.monotonic() + 60
    while sum(caught) < scaled(300) and time.monotonic() < deadline:
        target = chance.choice(threads).ident
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(target or 0), ctypes.py_object(Interrupt)
        )
        time.sleep(chance.uniform(0, 1e-3))
    time.sleep(0.1)
    end.set()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert sum(caught) >= scaled(300)
    assert sum(acknowledged) > 0
    added = database.balances()[1] - 1000
    assert sum(acknowledged) <= added <= sum(acknowledged) + sum(unknown)
    assert idle(merger)
    database.close()
