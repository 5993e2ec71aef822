"""Transactions of tasks that are merged: what commits, what is raised to whom, what runs again."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import random
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from heddle_client import (
    AsyncMerger,
    InDoubtError,
    Merger,
    NestedTransactionError,
    Policy,
    Scheduler,
)
from tests.client.conftest import INSTALL
from tests.client.test_merger import LOST_COMMIT
from tests.client.test_server import made, serving  # noqa: F401 (the fixture path)
from tests.scale import scaled
from tests.waiting import PATIENCE_S

MERGE = 8
Function = Callable[[Any], Awaitable[Any]]

HELD_COMMIT = """
CREATE FUNCTION hold() RETURNS trigger AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE CONSTRAINT TRIGGER hold AFTER UPDATE ON account DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.id = 3) EXECUTE FUNCTION hold();
"""
"""A commit after an update of account 3 waits as long as another connection has a lock."""


class Database:
    """A pool of a driver in front of four accounts of 1,000."""

    def __init__(self, driver: str, pool: Any) -> None:
        self._mark = "%s" if driver == "psycopg" else "${}"
        self.connect = pool.connection if driver == "psycopg" else pool.acquire
        self.connections = pool

    async def execute(self, connection: Any, statement: str, *values: Any) -> Any:
        """Run a statement, and return the first value of its result."""
        for number in range(1, len(values) + 1):
            statement = statement.replace("?", self._mark.format(number), 1)
        if self._mark == "%s":
            cursor = await connection.execute(statement, values)
            row = await cursor.fetchone() if cursor.description else None
        else:
            row = await connection.fetchrow(statement, *values)
        return row[0] if row else None

    async def add(self, connection: Any, account: int, amount: int) -> int:
        """Read a balance and write it, as an application does."""
        query = "SELECT balance FROM account WHERE id = ?"
        balance: int = await self.execute(connection, query, account)
        update = "UPDATE account SET balance = ? WHERE id = ?"
        await self.execute(connection, update, balance + amount, account)
        return balance + amount

    async def balances(self) -> list[int]:
        query = "SELECT array_agg(balance ORDER BY id) FROM account"
        async with self.connect() as connection:
            return list(await self.execute(connection, query))


@asynccontextmanager
async def held_commit(database: Database) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Hold what HELD_COMMIT waits for; yield what waits until a commit does."""
    async with database.connect() as connection:
        await database.execute(connection, "SELECT pg_advisory_lock(1)")

        async def reached() -> None:
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while not await database.execute(connection, waiting):
                await asyncio.sleep(0.001)

        yield reached
        await database.execute(connection, "SELECT pg_advisory_unlock(1)")


@asynccontextmanager
async def opened(driver: str, address: str) -> AsyncIterator[Database]:
    isolation = {"default_transaction_isolation": "serializable"}
    if driver == "psycopg":
        from psycopg_pool import AsyncConnectionPool

        options = {"options": "-c default_transaction_isolation=serializable"}
        async with AsyncConnectionPool(
            address, kwargs=options, min_size=4, max_size=16, open=False
        ) as pool:
            yield Database(driver, pool)
    else:
        import asyncpg

        async with asyncpg.create_pool(
            address, min_size=4, max_size=16, server_settings=isolation
        ) as pool:
            yield Database(driver, pool)


Run = Callable[[Callable[[Database], Coroutine[Any, Any, None]]], None]


@pytest.fixture(name="run", params=["psycopg", "asyncpg"])
def runs(request: pytest.FixtureRequest, bank: str) -> Run:
    """Runs a coroutine with a database in a loop of its own, with a time limit."""
    package = {"psycopg": "psycopg_pool", "asyncpg": "asyncpg"}[request.param]
    pytest.importorskip(package, reason=f"{package} is missing: {INSTALL}")

    async def work(test: Callable[[Database], Coroutine[Any, Any, None]]) -> None:
        async with asyncio.timeout(PATIENCE_S), opened(request.param, bank) as database:
            await test(database)

    return lambda test: asyncio.run(work(test))


@pytest.fixture(name="_deferrable")
def altered(bank: str) -> None:
    execute(
        bank,
        "ALTER TABLE account ADD parent int REFERENCES account DEFERRABLE INITIALLY DEFERRED",
    )


def execute(address: str, statements: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statements)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.001)


def waiting(merger: AsyncMerger) -> int:
    return sum(len(groups.queue) for groups in merger._all_groups())


def idle(merger: AsyncMerger) -> bool:
    metrics = merger._scheduler.metrics()
    running = sum(len(groups.running) for groups in merger._all_groups())
    return (metrics.running, metrics.waiting, waiting(merger), running) == (0, 0, 0, 0)


@asynccontextmanager
async def held(merger: AsyncMerger) -> AsyncIterator[None]:
    """Let calls wait in the queue: another call holds the only place meanwhile."""
    begun, let_go = asyncio.Event(), asyncio.Event()

    async def hold(_: Any) -> None:
        begun.set()
        await let_go.wait()

    first = asyncio.create_task(merger.run("hold", hold))
    await begun.wait()
    try:
        yield
    finally:
        let_go.set()
        await asyncio.wait((first,))


async def queued(merger: AsyncMerger, functions: list[Function]) -> list[asyncio.Task[Any]]:
    """Run functions in tasks that wait in the queue, in their order."""
    tasks = []
    for number, function in enumerate(functions, 1):
        tasks.append(asyncio.create_task(merger.run("pay", function, keys=[1])))
        await until(lambda number=number: waiting(merger) == number)  # type: ignore[misc]
    return tasks


async def in_a_group(
    merger: AsyncMerger, functions: list[Function], between: Callable[[], None] = lambda: None
) -> list[asyncio.Task[Any]]:
    """Run functions in one group, and return their tasks, which have ended."""
    async with held(merger):
        tasks = await queued(merger, functions)
        between()
    await asyncio.wait(tasks)
    return tasks


@pytest.mark.parametrize("mode", ["fifo", "smf", "locks"])
@pytest.mark.parametrize("concurrency", [None, 2])
def test_merged_transactions_lose_no_update(run: Run, mode: str, concurrency: int | None) -> None:
    scheduler = Scheduler(mode=mode, concurrency=concurrency, merge=MERGE)
    number = scaled(10)

    async def work(database: Database) -> None:
        merger = AsyncMerger(scheduler, database.connect)

        async def add(task: int) -> None:
            for turn in range(number):
                account = (task + turn) % 4
                keys = [("account", account)]
                while True:
                    try:
                        await merger.run("add", database.add, account, 1, keys=keys)
                        break
                    except Exception as error:
                        if getattr(error, "sqlstate", None) != "40001":
                            raise

        await asyncio.gather(*map(add, range(12)))
        assert sum(await database.balances()) == 4_000 + 12 * number
        assert idle(merger)

    run(work)
    metrics = scheduler.metrics()
    assert metrics.merged > metrics.groups > 0
    assert metrics.failed_open == 0


def test_a_call_of_a_group_sees_those_before_it(run: Run) -> None:
    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        tasks = await in_a_group(merger, [lambda one: database.add(one, 1, 5)] * 3)
        assert [task.result() for task in tasks] == [1005, 1010, 1015]
        metrics = merger._scheduler.metrics()
        assert (metrics.groups, metrics.merged, metrics.started) == (1, 3, 2)
        assert (await database.balances())[1] == 1015

    run(work)


def test_what_a_function_raises_undoes_it_alone(run: Run) -> None:
    runs = []

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)

        async def fail(connection: Any) -> None:
            runs.append(1)
            await database.add(connection, 1, 100)
            raise ZeroDivisionError

        async def wrong(connection: Any) -> None:
            runs.append(1)
            await database.add(connection, 1, 100)
            await database.execute(connection, "SELECT balance FROM nowhere")

        async def hidden(connection: Any) -> None:
            try:
                await wrong(connection)
            except Exception:
                return

        async def cancelled(connection: Any) -> None:
            await database.add(connection, 1, 100)
            raise asyncio.CancelledError

        async def late(connection: Any) -> None:
            await database.add(connection, 1, 100)
            async with asyncio.timeout(0.01):
                await database.execute(connection, "SELECT pg_sleep(600)")

        def add(connection: Any) -> Awaitable[int]:
            return database.add(connection, 1, 1)

        functions = [add, fail, add, wrong, hidden, cancelled, late, add]
        first, failed, second, refused, concealed, stopped, slow, last = await in_a_group(
            merger, functions
        )
        assert isinstance(failed.exception(), ZeroDivisionError)
        assert "nowhere" in str(refused.exception())
        assert "current transaction is aborted" in str(concealed.exception())
        assert stopped.cancelled()
        assert isinstance(slow.exception(), TimeoutError)
        assert [task.result() for task in (first, second, last)] == [1001, 1002, 1003]
        assert len(runs) == 3
        assert (await database.balances())[1] == 1003
        metrics = merger._scheduler.metrics()
        assert (metrics.groups, metrics.failed_groups) == (1, 0)

    run(work)


@pytest.mark.usefixtures("_deferrable")
def test_a_group_whose_commit_is_refused_runs_one_by_one(run: Run) -> None:
    runs = []

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)

        async def orphan(connection: Any) -> None:
            runs.append("orphan")
            await database.execute(connection, "UPDATE account SET parent = 77 WHERE id = 2")

        async def add(connection: Any) -> int:
            runs.append("add")
            return await database.add(connection, 1, 1)

        first, refused, last = await in_a_group(merger, [add, orphan, add])
        assert "foreign key" in str(refused.exception())
        assert sorted([first.result(), last.result()]) == [1001, 1002]
        assert sorted(runs) == ["add"] * 4 + ["orphan"] * 2
        assert await database.balances() == [1000, 1002, 1000, 1000]
        metrics = merger._scheduler.metrics()
        assert (metrics.groups, metrics.failed_groups) == (0, 1)
        assert idle(merger)

    run(work)


def test_a_conflict_undoes_the_group_and_each_runs_again(run: Run) -> None:
    runs = []

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)

        async def conflicting(connection: Any) -> int:
            runs.append(1)
            await database.execute(connection, "SELECT sum(balance) FROM account")
            if len(runs) == 1:
                async with database.connect() as other:
                    await database.add(other, 2, 50)
            return await database.add(connection, 2, 1)

        first, second = await in_a_group(merger, [lambda one: database.add(one, 1, 1), conflicting])
        assert (first.result(), second.result(), len(runs)) == (1001, 1051, 2)
        assert merger._scheduler.metrics().failed_groups == 1

    run(work)


def test_after_a_lost_connection_nothing_runs_again(run: Run) -> None:
    runs = []

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)

        async def add(connection: Any) -> int:
            runs.append(1)
            return await database.add(connection, 1, 1)

        async def lose(connection: Any) -> None:
            process = await database.execute(connection, "SELECT pg_backend_pid()")
            async with database.connect() as other:
                end = "SELECT pg_terminate_backend(?, 600000)"
                await database.execute(other, end, process)
            await add(connection)

        for task in await in_a_group(merger, [add, lose, add]):
            with pytest.raises(InDoubtError, match="read what it would have written"):
                task.result()
        assert len(runs) == 2
        assert (await database.balances())[1] == 1000
        assert await merger.run("add", database.add, 1, 1, keys=[1]) == 1001
        assert idle(merger)

    run(work)


def test_a_connection_that_is_lost_in_the_commit(run: Run, bank: str) -> None:
    execute(bank, LOST_COMMIT)
    runs = []

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)

        async def add(connection: Any) -> int:
            runs.append(1)
            return await database.add(connection, 3, 1)

        for task in await in_a_group(merger, [add, add]):
            assert isinstance(task.exception(), InDoubtError)
        with pytest.raises(InDoubtError):
            await merger.run("add", add, keys=[1])
        assert len(runs) == 3
        assert (await database.balances())[3] == 1000
        assert idle(merger)

    run(work)


class AnswerError(Exception):
    """Of a server."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("answer", "doubtful"),
    [
        (TimeoutError(), True),  # such as of `command_timeout`: the connection is whole
        (AnswerError("57P01"), True),
        (AnswerError("08006"), True),
        (AnswerError("40001"), False),
    ],
)
def test_what_a_commit_raises(answer: Exception, doubtful: bool) -> None:
    class Silent(Connection):
        async def commit(self) -> None:
            raise answer

    runs = []

    async def pay(_: Any) -> None:
        runs.append(1)

    async def work() -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), lambda: nullcontext(Silent()))
        async with held(merger):
            tasks = await queued(merger, [pay, pay])
        await asyncio.wait(tasks)
        for task in tasks:
            assert isinstance(task.exception(), InDoubtError if doubtful else AnswerError)
        assert len(runs) == (2 if doubtful else 4)

    asyncio.run(work())


def test_a_function_that_commits_leaves_the_group_in_doubt(bank: str) -> None:
    asyncpg = pytest.importorskip("asyncpg", reason=f"asyncpg is missing: {INSTALL}")
    runs = []

    async def work() -> None:
        async with asyncpg.create_pool(bank, min_size=2) as pool:
            database = Database("asyncpg", pool)
            merger = AsyncMerger(Scheduler(merge=MERGE), pool.acquire)

            async def add(connection: Any) -> int:
                runs.append(1)
                async with connection.transaction():  # a savepoint
                    return await database.add(connection, 1, 1)

            async def commit(connection: Any) -> None:
                await connection.execute("COMMIT")

            for task in await in_a_group(merger, [add, commit, add]):
                with pytest.raises(InDoubtError, match="'pay' has ended the transaction"):
                    task.result()
            assert len(runs) == 1
            assert (await database.balances())[1] == 1001
            assert await merger.run("add", add, keys=[1]) == 1002

    asyncio.run(work())


@pytest.mark.parametrize("who", [0, 1])
def test_a_call_that_is_cancelled_in_the_queue_does_not_run(run: Run, who: int) -> None:
    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        functions: list[Function] = [lambda one: database.add(one, 1, 1)] * 3
        async with held(merger):
            tasks = await queued(merger, functions)
            tasks[who].cancel()
            await asyncio.wait((tasks[who],))
        await asyncio.wait(tasks)
        assert tasks[who].cancelled()
        done = [task.result() for task in tasks if not task.cancelled()]
        assert done == [1001, 1002]
        assert (await database.balances())[1] == 1002
        assert idle(merger)

    run(work)


def test_a_call_that_is_cancelled_when_it_is_to_lead(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group has been made, and its leader has not begun."""

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        async with held(merger):
            tasks = await queued(merger, [lambda one: database.add(one, 1, 1)] * 3)
            (groups,) = merger._all_groups()
            first = groups.queue[0]
            wake = first.wake

            def wake_and_cancel() -> None:
                assert first.lead is not None
                wake()
                tasks[0].cancel()

            monkeypatch.setattr(first, "wake", wake_and_cancel)
        await asyncio.wait(tasks)
        assert tasks[0].cancelled()
        assert [task.result() for task in tasks[1:]] == [1001, 1002]
        assert idle(merger)

    run(work)


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("times", [1, 3])
def test_a_call_that_is_cancelled_in_its_function_is_undone_alone(
    run: Run, who: int, times: int
) -> None:
    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        begun = asyncio.Event()
        tasks: list[asyncio.Task[Any]] = []

        async def add(connection: Any) -> int:
            return await database.add(connection, 1, 1)

        async def stopped(connection: Any) -> None:
            await database.add(connection, 1, 100)
            begun.set()
            await database.execute(connection, "SELECT pg_sleep(600)")

        async def cancel() -> None:
            await begun.wait()
            await asyncio.sleep(0.05)  # the server sleeps
            for _ in range(times):  # the later ones while the driver ends the statement
                tasks[who].cancel()
                await asyncio.sleep(0)

        functions: list[Function] = [add, add, add]
        functions[who] = stopped
        async with held(merger):
            tasks += await queued(merger, functions)
            canceller = asyncio.create_task(cancel())
        await asyncio.wait([*tasks, canceller])
        assert tasks[who].cancelled()
        assert [task.result() for task in tasks if not task.cancelled()] == [1001, 1002]
        assert (await database.balances())[1] == 1002
        metrics = merger._scheduler.metrics()
        assert (metrics.groups, metrics.merged, metrics.failed_groups) == (1, 2, 0)
        assert idle(merger)

    run(work)


def test_a_function_that_ignores_its_cancellation_is_undone_too(run: Run) -> None:
    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        begun = asyncio.Event()

        async def stubborn(connection: Any) -> int:
            await database.add(connection, 1, 100)
            begun.set()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                return 7
            return 8

        async with held(merger):
            functions = [stubborn, lambda connection: database.add(connection, 1, 1)]
            ignoring, other = await queued(merger, functions)
        await begun.wait()
        ignoring.cancel()
        assert await other == 1001
        assert ignoring.cancelled()
        assert (await database.balances())[1] == 1001

    run(work)


@pytest.mark.parametrize("who", [0, 1])
def test_a_call_that_is_cancelled_behind_its_function_waits_for_the_commit(
    run: Run, bank: str, who: int
) -> None:
    execute(bank, HELD_COMMIT)

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        functions: list[Function] = [lambda connection: database.add(connection, 1, 1)] * 2
        functions.append(lambda connection: database.add(connection, 3, 1))
        async with held_commit(database) as reached:
            async with held(merger):
                tasks = await queued(merger, functions)
            await reached()
            tasks[who].cancel()
            for _ in range(10):
                await asyncio.sleep(0.001)
            assert not tasks[who].done()
        await asyncio.wait((tasks[who],))
        assert tasks[who].cancelled()
        assert await database.balances() == [1000, 1002, 1000, 1001]
        await asyncio.wait(tasks)
        assert [task.result() for task in tasks if not task.cancelled()] == [1002 - who, 1001]
        assert idle(merger)

    run(work)


def test_a_second_cancellation_does_not_wait(run: Run, bank: str) -> None:
    execute(bank, HELD_COMMIT)

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        functions = [
            lambda one, account=account: database.add(one, account, 1) for account in (1, 3)
        ]
        async with held_commit(database) as reached:
            async with held(merger):
                first, second = await queued(merger, functions)
            await reached()
            first.cancel()
            await asyncio.sleep(0.01)
            assert not first.done()
            first.cancel()
            await asyncio.wait((first,))
            assert first.cancelled()
            assert not second.done()
        assert await second == 1001
        assert await database.balances() == [1000, 1001, 1000, 1001]

    run(work)


def test_a_call_that_is_cancelled_in_the_step_that_ends_its_group() -> None:
    """The cancellation comes before the end, and its task continues after it."""
    tasks: list[asyncio.Task[Any]] = []
    ran: list[int] = []

    class Cancelling(Connection):
        async def commit(self) -> None:
            if len(ran) == 3:
                tasks[0].cancel()
                tasks[1].cancel()

    async def run(_: Any) -> int:
        ran.append(1)
        return 7

    async def work() -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), lambda: nullcontext(Cancelling()))
        async with held(merger):
            tasks.extend(await queued(merger, [run, run, run]))
        await asyncio.wait(tasks, timeout=PATIENCE_S)
        assert [task.done() and task.cancelled() for task in tasks] == [True, True, False]
        assert await tasks[2] == 7
        assert idle(merger)

    asyncio.run(work())


def test_a_leader_that_is_cancelled(run: Run) -> None:
    """As by a program that cancels all tasks: the others run again."""

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        runs = 0
        ended = asyncio.Event()

        async def slow(connection: Any) -> int:
            nonlocal runs
            runs += 1
            found = await database.add(connection, 3, 1)
            if runs == 1:
                ended.set()
                await database.execute(connection, "SELECT pg_sleep(600)")
            return found

        async with held(merger):
            functions = [lambda connection: database.add(connection, 1, 1), slow]
            first, second = await queued(merger, functions)
        await ended.wait()
        cancel_leader(merger)
        assert (await first, await second, runs) == (1001, 1001, 2)
        assert await database.balances() == [1000, 1001, 1000, 1001]
        assert idle(merger)

    run(work)


def cancel_leader(merger: AsyncMerger) -> None:
    (groups,) = merger._all_groups()
    (leader,) = groups.leaders
    leader.cancel()


def test_a_leader_that_is_cancelled_in_the_commit(run: Run, bank: str) -> None:
    execute(bank, HELD_COMMIT)
    runs = []

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)

        async def add(connection: Any) -> int:
            runs.append(1)
            return await database.add(connection, 3, 1)

        async with held_commit(database) as reached:
            async with held(merger):
                tasks = await queued(merger, [add, add])
            await reached()
            cancel_leader(merger)
            await asyncio.wait(tasks)
        for task in tasks:
            assert isinstance(task.exception(), InDoubtError)
        assert len(runs) == 2
        assert idle(merger)

    run(work)


def test_a_leader_that_is_cancelled_before_it_begins(run: Run) -> None:
    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        async with held(merger):
            tasks = await queued(merger, [lambda one: database.add(one, 1, 1)] * 2)
            (groups,) = merger._all_groups()

            class Leaders(set[asyncio.Task[None]]):
                def add(self, leader: asyncio.Task[None]) -> None:
                    leader.cancel()

            groups.leaders = Leaders()
        assert sorted(await asyncio.gather(*tasks)) == [1001, 1002]
        assert merger._scheduler.metrics().groups == 0
        assert idle(merger)

    run(work)


def test_a_loop_that_ends_undoes_what_runs(run: Run) -> None:
    scheduler = Scheduler(merge=MERGE)

    async def work(database: Database) -> None:
        merger = AsyncMerger(scheduler, database.connect)
        begun = asyncio.Event()

        async def endless(connection: Any) -> None:
            await database.add(connection, 1, 100)
            begun.set()
            await database.execute(connection, "SELECT pg_sleep(600)")

        async with held(merger):
            functions = [lambda connection: database.add(connection, 1, 1), endless]
            tasks = await queued(merger, functions)
        await begun.wait()
        tasks += [asyncio.create_task(merger.run("late", endless))]
        await until(lambda: waiting(merger) == 1)
        (groups,) = merger._all_groups()
        ours = {*tasks, *groups.leaders}
        assert len(ours) == 4
        for task in ours:  # as `asyncio.run` does at its end
            task.cancel()
        await asyncio.wait(ours)
        assert all(task.cancelled() for task in tasks)
        assert (await database.balances())[1] == 1000
        assert idle(merger)

    run(work)


def test_a_closed_loop_leaves_nothing_behind() -> None:
    """It is closed while a group runs and a call waits, and nothing is cancelled."""
    scheduler = Scheduler(mode="locks", merge=2)
    merger = AsyncMerger(scheduler, lambda: nullcontext(Connection()))
    tasks: list[asyncio.Task[Any]] = []

    async def start() -> None:
        async with held(merger):
            tasks.extend(await queued(merger, [seven, endless, seven]))
        (groups,) = merger._all_groups()
        await until(lambda: len(groups.queue) == 1 and scheduler.metrics().running == 1)
        tasks.extend(asyncio.all_tasks())

    loop = asyncio.new_event_loop()
    loop.run_until_complete(start())
    assert len({*tasks}) == 6  # with the leader, the task of its function, and that of start()
    loop.close()
    for task in tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    tasks.clear()
    del task, loop
    gc.collect()
    assert merger._all_groups() == []
    assert idle(merger)
    assert asyncio.run(merger.run("pay", seven, keys=[1])) == 7


class Connection:
    """One of asyncpg that does nothing."""

    def is_in_transaction(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def transaction(self) -> Connection:
        return self

    async def start(self) -> None:
        pass

    async def execute(self, statements: str) -> None:
        pass

    async def commit(self) -> None:
        await asyncio.sleep(0)

    async def rollback(self) -> None:
        await asyncio.sleep(0)


async def endless(_: Any) -> None:
    await asyncio.get_running_loop().create_future()


async def seven(_: Any) -> int:
    return 7


def test_a_cancellation_of_a_commit_without_others(run: Run, bank: str) -> None:
    execute(bank, HELD_COMMIT)

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        async with held_commit(database) as reached:
            task = asyncio.create_task(merger.run("pay", database.add, 3, 1))
            await reached()
            task.cancel()
            await asyncio.wait((task,))
            assert task.cancelled()
            async with database.connect() as connection:  # the transaction is over
                free = "SELECT balance FROM account WHERE id = 3 FOR UPDATE NOWAIT"
                assert await database.execute(connection, free) == 1000
        assert idle(merger)

    run(work)


def test_a_cancellation_that_the_server_gets_late() -> None:
    """It then stops the statement that returns to the savepoint."""

    class Late(Connection):
        cancelled = 0

        async def execute(self, statements: str) -> None:
            if statements.startswith("ROLLBACK TO") and not self.cancelled:
                self.cancelled += 1
                raise AnswerError("57014")

    async def fail(_: Any) -> None:
        raise ZeroDivisionError

    async def work() -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), lambda: nullcontext(connection))
        failed, done = await in_a_group(merger, [fail, seven])
        assert isinstance(failed.exception(), ZeroDivisionError)
        assert done.result() == 7

    connection = Late()
    asyncio.run(work())
    assert connection.cancelled == 1


def test_cancellations_neither_lose_nor_double_a_transaction(run: Run, bank: str) -> None:
    """Each writes its number; one that was cancelled before its function has ended, does not."""
    execute(bank, "CREATE TABLE done (number int)")
    scheduler = Scheduler(mode="locks", merge=4, concurrency=2)
    chance = random.Random(11)
    number = scaled(300)

    async def work(database: Database) -> None:
        merger = AsyncMerger(scheduler, database.connect)
        ended = set()

        async def pay(connection: Any, one: int) -> int:
            await database.add(connection, one % 4, 1)
            await database.execute(connection, "INSERT INTO done VALUES (?)", one)
            ended.add(one)
            return one

        async def call(one: int) -> int:
            return await merger.run("pay", pay, one, keys=[("account", one % 4)])

        tasks: list[asyncio.Task[int]] = []
        for one in range(number):
            tasks.append(asyncio.create_task(call(one)))
            await asyncio.sleep(chance.choice((0, 0, 0.001)))
            if chance.random() < 0.4:
                chance.choice(tasks[-12:]).cancel()
        await asyncio.wait(tasks)
        async with database.connect() as connection:
            query = "SELECT coalesce(array_agg(number), '{}') FROM done"
            written = list(await database.execute(connection, query))
        results = {one for one, task in enumerate(tasks) if not task.cancelled()}
        assert {tasks[one].result() for one in results} == results
        assert len(written) == len(set(written))
        assert results <= set(written) <= ended
        assert sum(await database.balances()) == 4_000 + len(written)
        assert 0 < len(results) < number
        assert idle(merger)

    run(work)
    assert scheduler.metrics().merged > 0
    assert scheduler.metrics().failed_open == 0


@pytest.mark.parametrize("thread", [False, True])
def test_switched_off_each_runs_by_itself(run: Run, thread: bool) -> None:
    async def work(database: Database) -> None:
        scheduler = Scheduler(mode="locks", merge=MERGE)
        merger = AsyncMerger(scheduler, database.connect)

        def switch_off() -> None:
            scheduler.enabled = False

        async with held(merger):
            tasks = await queued(merger, [lambda one: database.add(one, 1, 1)])
            if thread:
                await asyncio.to_thread(switch_off)
            else:
                switch_off()
            assert await tasks[0] == 1001  # while the first still holds the place
        assert (scheduler.metrics().groups, scheduler.metrics().passed_through) == (0, 1)
        assert await merger.run("add", database.add, 3, 1) == 1001

    run(work)


def test_it_fails_open(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("heddle_client.merging.Groups.start", fail)

    async def work(database: Database) -> None:
        merger = AsyncMerger(Scheduler(merge=MERGE), database.connect)
        assert await merger.run("add", database.add, 1, 1, keys=[1]) == 1001
        assert merger._scheduler.metrics().failed_open == 1
        assert idle(merger)

    run(work)


def test_the_size_of_groups_can_be_swapped(run: Run) -> None:
    async def work(database: Database) -> None:
        scheduler = Scheduler(Policy("locks", merge=1))
        merger = AsyncMerger(scheduler, database.connect)
        functions: list[Function] = [lambda one: database.add(one, 1, 1)] * 4
        calls = [merger.run("pay", function, keys=[1]) for function in functions]
        assert sorted(await asyncio.gather(*calls)) == [1001, 1002, 1003, 1004]
        assert scheduler.metrics().merged == 0
        scheduler.use(Policy("locks", merge=2))
        await in_a_group(merger, functions)
        assert (scheduler.metrics().groups, scheduler.metrics().merged) == (2, 4)

        def shrink() -> None:
            scheduler.use(Policy("locks", merge=1))

        tasks = await in_a_group(merger, functions, shrink)
        assert [task.result() for task in tasks] == [1009, 1010, 1011, 1012]
        assert (scheduler.metrics().groups, scheduler.metrics().merged) == (2, 4)
        assert idle(merger)

    run(work)


def test_inside_another_transaction(run: Run) -> None:
    async def work(database: Database) -> None:
        scheduler = Scheduler(merge=MERGE)
        merger = AsyncMerger(scheduler, database.connect)
        async with scheduler.transaction("outer", keys=[1]):
            assert await merger.run("add", database.add, 1, 1, keys=[1]) == 1001
        assert scheduler.metrics().passed_through == 1
        scheduler = Scheduler(mode="locks", merge=MERGE)
        merger = AsyncMerger(scheduler, database.connect)
        async with scheduler.transaction("outer"):
            with pytest.raises(NestedTransactionError):
                await merger.run("add", database.add, 1, 1, keys=[1])
        assert idle(merger)

    run(work)


def test_a_function_of_a_group_is_inside_a_transaction_until_it_ends(run: Run) -> None:
    mark: contextvars.ContextVar[int] = contextvars.ContextVar("mark")

    async def work(database: Database) -> None:
        scheduler = Scheduler(mode="locks", merge=MERGE)
        merger = AsyncMerger(scheduler, database.connect)
        later = asyncio.Event()
        left: list[asyncio.Task[int]] = []

        async def after() -> int:
            await later.wait()
            return await merger.run("pay", database.add, 1, 1, keys=[1])

        async def nest(connection: Any) -> int:
            await database.add(connection, 1, 100)
            left.append(asyncio.create_task(after()))
            with pytest.raises(NestedTransactionError, match="is inside transaction 'nest'"):
                await merger.run("inner", database.add, 2, 1)
            return mark.get()

        async def call(number: int) -> int:
            mark.set(number)
            return await merger.run("nest", nest, keys=[1])

        async with held(merger):
            tasks = [asyncio.create_task(call(number)) for number in range(3)]
            await until(lambda: waiting(merger) == 3)
        assert await asyncio.gather(*tasks) == [0, 1, 2]
        assert scheduler._core.surrounding() is None
        later.set()
        assert sorted(await asyncio.gather(*left)) == [1301, 1302, 1303]
        assert idle(merger)

    run(work)


def test_the_loop_runs_while_a_group_waits_for_a_thread(run: Run) -> None:
    async def work(database: Database) -> None:
        scheduler = Scheduler(mode="locks", merge=MERGE)
        merger = AsyncMerger(scheduler, database.connect)
        holds, let_go = threading.Event(), threading.Event()

        def hold() -> None:
            with scheduler.transaction("thread", keys=[1]):
                holds.set()
                assert let_go.wait(PATIENCE_S)

        thread = threading.Thread(target=hold)
        thread.start()
        await until(holds.is_set)
        tasks: list[asyncio.Task[int]] = []
        async with held(merger):
            tasks += await queued(merger, [lambda one: database.add(one, 1, 1)] * 2)
        await until(lambda: scheduler.metrics().waiting == 1)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert scheduler.metrics().waiting == 1
        let_go.set()
        assert await asyncio.gather(*tasks) == [1001, 1002]
        thread.join(PATIENCE_S)

    run(work)


def test_each_loop_has_groups_of_its_own(bank: str) -> None:
    pytest.importorskip("asyncpg", reason=f"asyncpg is missing: {INSTALL}")
    scheduler = Scheduler(mode="locks", merge=MERGE)
    databases: dict[asyncio.AbstractEventLoop, Database] = {}
    merger = AsyncMerger(scheduler, lambda: databases[asyncio.get_running_loop()].connect())
    failures: list[BaseException] = []

    async def work() -> None:
        async with opened("asyncpg", bank) as database:
            databases[asyncio.get_running_loop()] = database
            calls = [merger.run("add", database.add, 1, 1, keys=[1]) for _ in range(30)]
            await asyncio.gather(*calls)

    def loop() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=loop) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert failures == []
    assert idle(merger)
    assert scheduler.metrics().merged > 0

    async def check() -> None:
        async with opened("asyncpg", bank) as database:
            assert (await database.balances())[1] == 1_090

    asyncio.run(check())


def test_groups_are_admitted_by_a_server(run: Run, path: Path) -> None:
    policy = path.parent / "policy.json"
    policy.write_text(
        '{"schema_version": 1, "kind": "heddle.policy", "protocol": {"name": "external", '
        '"options": {"locks": "hints", "merge": "4"}}}'
    )
    with serving(path, policy):
        scheduler = Scheduler(server=path)

        async def work(database: Database) -> None:
            merger = AsyncMerger(scheduler, database.connect)
            calls = [merger.run("add", database.add, 1, 1, keys=["account"]) for _ in range(40)]
            assert sorted(await asyncio.gather(*calls)) == list(range(1001, 1041))
            assert idle(merger)

        run(work)
        metrics = scheduler.metrics()
        assert metrics.merged > metrics.groups > 0
        assert metrics.failed_open == 0
        scheduler.close()


def test_connections_and_functions_of_threads_are_refused(tmp_path: Path) -> None:
    scheduler = Scheduler(merge=MERGE)
    with closing(sqlite3.connect(tmp_path / "bank")) as connection:
        merger = AsyncMerger(scheduler, lambda: nullcontext(connection))
        with pytest.raises(TypeError, match=r"is a sqlite3\.Connection: give an AsyncConnection"):
            asyncio.run(merger.run("add", endless))
        threads = Merger(scheduler, lambda: nullcontext(connection))
        with pytest.raises(TypeError, match="its function is a coroutine: use AsyncMerger"):
            threads.run("add", endless)
    merger = AsyncMerger(scheduler, lambda: nullcontext(Connection()))
    with pytest.raises(TypeError, match=r"'add': .* returned a int: give an async function"):
        asyncio.run(merger.run("add", lambda _: 7))  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="or use AsyncMerger"):
        Merger(scheduler, lambda: nullcontext(Connection())).run("add", id)
