"""Measures the merging of asyncio's tasks in front of PostgreSQL, through asyncpg or psycopg.

    python -m engine.bench.client.tasks --place /var/tmp --driver asyncpg
    python -m engine.bench.client.tasks --place /var/tmp --driver psycopg --branches 100

Each transaction adds an amount to an account and to its branch, in a durable private server at
READ COMMITTED. Tasks run them one after the other, each in a transaction of its own, then with
locks in front, then merged. Settings alternate in rounds, every other round reversed. Ratios are
medians over rounds. A run whose balances do not add up ends the command.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import psycopg

from engine.bench.client.arguments import count, existing_folder, seconds
from engine.bench.client.server import private_server
from heddle_client import AsyncMerger, Policy, Scheduler

CONNECTIONS = 48
"""The most of a pool: the server accepts some more."""

Connect = Callable[[], AbstractAsyncContextManager[Any]]
Deposit = Callable[[Any, int, int, int], Awaitable[None]]


@dataclass(frozen=True)
class Setting:
    """How transactions run."""

    name: str
    policy: Policy | None
    """None: each task begins when it likes."""


def settings(merge: int) -> list[Setting]:
    """Return what is compared; the first is the baseline."""
    return [
        Setting("unscheduled", None),
        Setting("locks", Policy("locks")),
        Setting(f"locks, groups of {merge}", Policy("locks", merge=merge)),
    ]


async def deposit_asyncpg(connection: Any, account: int, branch: int, amount: int) -> None:
    """Add an amount to an account and its branch."""
    for table, key in (("account", account), ("branch", branch)):
        statement = f"UPDATE {table} SET balance = balance + $1 WHERE id = $2"
        await connection.execute(statement, amount, key)


async def deposit_psycopg(connection: Any, account: int, branch: int, amount: int) -> None:
    """Add an amount to an account and its branch, in one round trip."""
    async with connection.pipeline():
        for table, key in (("account", account), ("branch", branch)):
            statement = f"UPDATE {table} SET balance = balance + %s WHERE id = %s"
            await connection.execute(statement, (amount, key))


@asynccontextmanager
async def opened(driver: str, address: str, connections: int) -> AsyncIterator[Connect]:
    """Yield what returns a connection of a pool."""
    if driver == "asyncpg":
        import asyncpg

        async with asyncpg.create_pool(address, min_size=connections, max_size=connections) as pool:
            yield pool.acquire
    else:
        from psycopg_pool import AsyncConnectionPool

        async with AsyncConnectionPool(address, min_size=connections, open=False) as pool:
            await pool.wait()
            yield pool.connection


async def run(
    connect: Connect, deposit: Deposit, setting: Setting, given: argparse.Namespace, seed: int
) -> float:
    """Run a setting for some time, and return its transactions per second."""
    scheduler = Scheduler(setting.policy)
    merger = AsyncMerger(scheduler, connect)
    done = 0

    async def alone(account: int, branch: int, amount: int) -> None:
        async with connect() as connection, connection.transaction():
            await deposit(connection, account, branch, amount)

    async def work(task: int) -> None:
        nonlocal done
        chance = random.Random(seed * given.tasks + task)
        while time.perf_counter() < end:
            account, amount = chance.randrange(given.accounts), chance.randrange(1, 100)
            branch = account % given.branches
            if setting.policy is None:
                await alone(account, branch, amount)
            else:
                keys = [("account", account), ("branch", branch)]
                await merger.run("deposit", deposit, account, branch, amount, keys=keys)
            done += 1

    start = time.perf_counter()
    end = start + given.seconds
    await asyncio.gather(*map(work, range(given.tasks)))
    return done / (time.perf_counter() - start)


def load(address: str, accounts: int, branches: int) -> None:
    """Create both tables, and fill them."""
    with psycopg.connect(address) as connection:
        for table, rows in (("account", accounts), ("branch", branches)):
            connection.execute(
                f"CREATE TABLE {table} (id int PRIMARY KEY, balance bigint NOT NULL) "
                "WITH (fillfactor = 50)"
            )
            connection.execute(
                f"INSERT INTO {table} SELECT id, 0 FROM generate_series(0, {rows - 1}) id"
            )


def check(address: str, name: str) -> None:
    """End the command if the balances of both tables differ."""
    with psycopg.connect(address) as connection:
        query = "SELECT (SELECT sum(balance) FROM account), (SELECT sum(balance) FROM branch)"
        row = connection.execute(query).fetchone()
    if row is None or row[0] != row[1]:
        raise SystemExit(f"{name}: accounts and branches sum to {row}: a transaction is in parts")


async def compare(address: str, given: argparse.Namespace) -> dict[str, list[float]]:
    """Return the transactions per second of each setting in each round."""
    deposit = deposit_asyncpg if given.driver == "asyncpg" else deposit_psycopg
    found: dict[str, list[float]] = {setting.name: [] for setting in settings(given.merge)}
    async with opened(given.driver, address, min(given.tasks, CONNECTIONS)) as connect:
        for turn in range(given.rounds):
            for setting in settings(given.merge)[:: 1 if turn % 2 == 0 else -1]:
                found[setting.name].append(await run(connect, deposit, setting, given, turn))
                check(address, setting.name)
    return found


def table(found: dict[str, list[float]]) -> str:
    """Return the figures of all settings, and their ratios to the first within a round."""
    base = next(iter(found.values()))
    lines = [f"{'setting':28}{'commits/s':>10}{'±':>6}{'ratio':>7}"]
    for name, values in found.items():
        spread = (max(values) - min(values)) / 2 / median(values)
        ratio = median(value / other for value, other in zip(values, base, strict=True))
        lines.append(f"{name:28}{median(values):10.0f}{spread:6.0%}{ratio:7.2f}")
    return "\n".join(lines)


def main(typed: Sequence[str] | None = None) -> None:
    """Run the command."""
    words, _, text = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m engine.bench.client.tasks",
        description=words,
        epilog=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--place", type=existing_folder, help="folder for the server; one on a disk"
    )
    parser.add_argument(
        "--driver", choices=("asyncpg", "psycopg"), default="asyncpg", help="driver of the tasks"
    )
    parser.add_argument("--merge", type=count, default=16, help="most transactions in a group")
    parser.add_argument("--tasks", type=count, default=32, help="tasks")
    parser.add_argument("--accounts", type=count, default=10_000, help="number of accounts")
    parser.add_argument("--branches", type=count, default=1, help="number of branches")
    parser.add_argument("--rounds", type=count, default=5, help="rounds of the comparison")
    parser.add_argument("--seconds", type=seconds, default=2.0, help="length of a run")
    given = parser.parse_args(typed)
    with private_server(given.place) as address:
        load(address, given.accounts, given.branches)
        print(table(asyncio.run(compare(address, given))))


if __name__ == "__main__":
    main()
