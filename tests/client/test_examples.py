"""The examples of docs/client-library.md, each run on a database of its own."""

from __future__ import annotations

import asyncio
import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from heddle_client import Scheduler
from tests.client.conftest import INSTALL
from tests.scale import scaled

PAGE = Path(__file__).parents[2] / "docs" / "client-library.md"
ADDRESS = "postgresql:///bank"

Example = dict[str, Any]


def example(heading: str, address: str) -> Example:
    """Run the Python block below a heading of the page, and return the names that it defines."""
    page = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^##+ {heading}\n.*?^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert found, f"no example below {heading}"
    names: Example = {}
    exec(compile(found[1].replace(ADDRESS, address), f"{PAGE}: {heading}", "exec"), names)
    return names


@pytest.fixture(name="of_psycopg")
def loaded(bank: str) -> Iterator[Callable[[str], Example]]:
    """Runs examples that use a pool of psycopg, and closes their pools."""
    pytest.importorskip("psycopg_pool", reason=f"psycopg_pool is missing: {INSTALL}")
    pools = []

    def load(heading: str) -> Example:
        names = example(heading, bank)
        pools.append(names["pool"])
        return names

    yield load
    for pool in pools:
        pool.close()


def payments(number: int) -> list[tuple[int, int, int]]:
    chance = random.Random(7)
    return [(*chance.sample(range(4), 2), chance.randrange(9)) for _ in range(number)]


def balances(address: str) -> list[int]:
    import psycopg

    with psycopg.connect(address) as connection:
        query = "SELECT balance FROM account ORDER BY id"
        return [balance for (balance,) in connection.execute(query)]


def after(moves: list[tuple[int, int, int]]) -> list[int]:
    expected = [1000] * 4
    for source, target, amount in moves:
        expected[source] -= amount
        expected[target] += amount
    return expected


def check_ended(scheduler: Scheduler, transactions: int) -> None:
    metrics = scheduler.metrics()
    assert (metrics.started, metrics.running, metrics.waiting) == (transactions, 0, 0)
    assert (metrics.failed_open, metrics.passed_through) == (0, 0)


def test_payments_with_psycopg(bank: str, of_psycopg: Callable[[str], Example]) -> None:
    names = of_psycopg("psycopg")
    moves = payments(scaled(100))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(names["pay"], *zip(*moves, strict=True)))
    assert balances(bank) == after(moves)
    check_ended(names["scheduler"], len(moves))


def test_merged_payments(bank: str, of_psycopg: Callable[[str], Example]) -> None:
    names = of_psycopg("Merging")
    moves = payments(scaled(100))
    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(names["pay"], *zip(*moves, strict=True)))
    assert done == [amount for _, _, amount in moves]
    assert balances(bank) == after(moves)
    metrics = names["scheduler"].metrics()
    assert metrics.merged > metrics.groups > 0
    assert (metrics.running, metrics.waiting, metrics.failed_open) == (0, 0, 0)


@pytest.mark.parametrize(
    ("heading", "package"),
    [("Merging with asyncpg", "asyncpg"), ("Merging with psycopg in asyncio", "psycopg_pool")],
)
def test_merged_payments_of_tasks(bank: str, heading: str, package: str) -> None:
    pytest.importorskip(package, reason=f"{package} is missing: {INSTALL}")
    names = example(heading, bank)
    moves = payments(scaled(100))
    assert asyncio.run(names["pay_all"](moves)) == [amount for _, _, amount in moves]
    assert balances(bank) == after(moves)
    metrics = names["scheduler"].metrics()
    assert metrics.merged > metrics.groups > 0
    assert (metrics.running, metrics.waiting, metrics.failed_open) == (0, 0, 0)


def test_payments_with_asyncpg(bank: str) -> None:
    pytest.importorskip("asyncpg", reason=f"asyncpg is missing: {INSTALL}")
    names = example("asyncpg", bank)
    moves = payments(scaled(100))
    asyncio.run(names["pay_all"](moves))
    assert balances(bank) == after(moves)
    check_ended(names["scheduler"], len(moves))


def test_deposits_with_sqlite3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("bank.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)")
        connection.execute("INSERT INTO account VALUES (1, 0)")
    names = example("sqlite3", "")
    number = scaled(40)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(names["deposit"], [1] * number, range(number)))
    with closing(sqlite3.connect("bank.sqlite")) as connection:
        found = connection.execute("SELECT balance FROM account").fetchone()
    assert found == (sum(range(number)),)
    check_ended(names["scheduler"], number)


@pytest.mark.parametrize("enabled", [True, False])
def test_withdrawals_are_retried(
    bank: str, of_psycopg: Callable[[str], Example], enabled: bool
) -> None:
    """Each reads and then writes: one that is not retried fails, and one that is lost shows.

    With the scheduler off they conflict, so that the loop has something to retry.
    """
    names = of_psycopg("Retries")
    names["scheduler"].enabled = enabled
    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(names["withdraw"], [1] * 60, [20] * 60))
    assert (sum(done), balances(bank)) == (50, [1000, 0, 1000, 1000])
