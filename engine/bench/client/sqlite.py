"""Deposits of threads into a SQLite file, each a transaction, with and without merging.

    strace -f -c -e trace=fsync,fdatasync python -m engine.bench.client.sqlite --merge 16

Prints transactions per second and commits per transaction; `strace` counts the waits for the disk.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from engine.bench.client.arguments import count, existing_folder
from heddle_client import Merger, Scheduler


class Bank:
    """A file with accounts, and a connection for each thread, in WAL mode with full durability."""

    def __init__(self, path: Path, accounts: int) -> None:
        self._path = path
        self._own = threading.local()
        with closing(self._open()) as connection, connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)")
            rows = [(number,) for number in range(accounts)]
            connection.executemany("INSERT INTO account VALUES (?, 0)", rows)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=60, check_same_thread=False)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection of this thread."""
        if not hasattr(self._own, "connection"):
            self._own.connection = self._open()
        yield self._own.connection

    def total(self) -> int:
        """Return the sum of all balances."""
        with closing(self._open()) as connection:
            return int(connection.execute("SELECT sum(balance) FROM account").fetchone()[0])


def deposit(connection: sqlite3.Connection, account: int) -> None:
    """Add one to an account."""
    connection.execute("UPDATE account SET balance = balance + 1 WHERE id = ?", (account,))


def main(typed: Sequence[str] | None = None) -> None:
    """Run the command."""
    words, _, text = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m engine.bench.client.sqlite",
        description=words,
        epilog=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--place", type=existing_folder, help="folder for the file; one on a disk")
    parser.add_argument("--merge", type=count, default=1, help="most transactions in a group")
    parser.add_argument("--threads", type=count, default=16, help="threads")
    parser.add_argument("--transactions", type=count, default=8_000, help="of all threads")
    parser.add_argument("--accounts", type=count, default=1_000, help="number of accounts")
    given = parser.parse_args(typed)
    with tempfile.TemporaryDirectory(dir=given.place, prefix="heddle-") as folder:
        bank = Bank(Path(folder) / "bank.sqlite", given.accounts)
        scheduler = Scheduler(mode="fifo", concurrency=1, merge=given.merge)
        merger = Merger(scheduler, bank.connection)

        def work(number: int) -> None:
            account = number % given.accounts
            merger.run("deposit", deposit, account, keys=[account])

        start = time.perf_counter()
        with ThreadPoolExecutor(given.threads) as threads:
            list(threads.map(work, range(given.transactions)))
        seconds = time.perf_counter() - start
        if bank.total() != given.transactions:
            raise SystemExit(f"{bank.total()} deposits of {given.transactions} are in the file")
        commits = scheduler.metrics().started
        print(
            f"merge={given.merge}: {given.transactions / seconds:.0f}/s, "
            f"{commits / given.transactions:.3f} commits per transaction"
        )


if __name__ == "__main__":
    main()
