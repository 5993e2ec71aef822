"""SmallBank in PostgreSQL through psycopg: its tables, inputs and transactions.

As `engine/workload/smallbank`: three tables, six types, the same mix and the same hot accounts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]

TYPES = ("amalgamate", "deposit", "payment", "savings", "check", "balance")
SHARES = (15, 15, 25, 15, 15, 15)
HOT_SHARE = 0.9
FIRST_BALANCE = 1_000_00
DEPOSIT, PAYMENT, SAVING, CHECK, PENALTY = 6_00, 5_00, 20_20, 5_00, 1_00
"""Amounts in cents."""

_READ_ACCOUNT = "SELECT customer FROM account WHERE name = %s"
_READ = {
    table: f"SELECT balance FROM {table} WHERE customer = %s" for table in ("savings", "checking")
}
_WRITE = {
    table: f"UPDATE {table} SET balance = %s WHERE customer = %s"
    for table in ("savings", "checking")
}

# As the engine's store: each statement finds its rows by the key.
SESSION = (
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off; "
    "SET plan_cache_mode = force_generic_plan"
)


@dataclass(frozen=True)
class Input:
    """One transaction to run."""

    type: str
    customer: int
    other: int

    @property
    def written(self) -> list[tuple[str, int]]:
        """The rows that it may write."""
        savings, checking = ("savings", self.customer), ("checking", self.customer)
        if self.type == "amalgamate":
            return [savings, checking, ("checking", self.other)]
        if self.type == "payment":
            return [checking, ("checking", self.other)]
        if self.type == "savings":
            return [savings]
        return [] if self.type == "balance" else [checking]

    @property
    def read(self) -> list[tuple[str, int]]:
        """The rows that it only reads, without those of the accounts, which nothing writes."""
        savings, checking = ("savings", self.customer), ("checking", self.customer)
        if self.type == "balance":
            return [savings, checking]
        return [savings] if self.type == "check" else []


def inputs(seed: int, accounts: int, hot_accounts: int) -> Iterator[Input]:
    """Yield inputs without end; a transaction's two customers are both hot, or mostly neither."""
    chance = random.Random(seed)
    while True:
        (kind,) = chance.choices(TYPES, SHARES)
        among = hot_accounts if chance.random() < HOT_SHARE else accounts
        customer, other = chance.sample(range(among), 2)
        yield Input(kind, customer, other)


def load(address: str, accounts: int) -> None:
    """Create the tables and fill them; those of an earlier call are dropped."""
    with psycopg.connect(address) as connection:
        for table, column in (("account", "name"), ("savings", ""), ("checking", "")):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
            columns = "name int PRIMARY KEY, customer int NOT NULL"
            values = "n, n"
            if not column:
                columns = "customer int PRIMARY KEY, balance bigint NOT NULL"
                values = f"n, {FIRST_BALANCE}"
            connection.execute(f"CREATE TABLE {table} ({columns}) WITH (fillfactor = 50)")
            connection.execute(
                f"INSERT INTO {table} SELECT {values} FROM generate_series(0, {accounts - 1}) n"
            )
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def money(address: str) -> int:
    """Return the sum of all balances in cents."""
    query = "SELECT (SELECT sum(balance) FROM savings) + (SELECT sum(balance) FROM checking)"
    with psycopg.connect(address) as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])


def transact(connection: Connection, one: Input) -> int:
    """Run the statements of a transaction in a pipeline, and return the change of `money`.

    Two waits for the server: for the accounts and for the balances. The updates are sent at the
    next synchronisation, which is that of the commit.
    """
    names = [one.customer]
    if one.type in ("amalgamate", "payment"):
        names.append(one.other)
    cursors = [connection.execute(_READ_ACCOUNT, (name,)) for name in names]
    customers = [_value(cursor) for cursor in cursors]
    rows = {
        "amalgamate": [("savings", 0), ("checking", 0), ("checking", 1)],
        "deposit": [("checking", 0)],
        "payment": [("checking", 0), ("checking", 1)],
        "savings": [("savings", 0)],
        "check": [("savings", 0), ("checking", 0)],
        "balance": [("savings", 0), ("checking", 0)],
    }[one.type]
    cursors = [connection.execute(_READ[table], (customers[who],)) for table, who in rows]
    before = dict(zip(rows, map(_value, cursors), strict=True))
    after = _after(one, before)
    for (table, who), balance in after.items():
        connection.execute(_WRITE[table], (balance, customers[who]))
    return sum(balance - before[row] for row, balance in after.items())


def _after(one: Input, before: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """Return the balances that a transaction writes; none if it rolls back."""
    savings, checking, other = ("savings", 0), ("checking", 0), ("checking", 1)
    if one.type == "amalgamate":
        total = before[savings] + before[checking]
        return {savings: 0, checking: 0, other: before[other] + total}
    if one.type == "deposit":
        return {checking: before[checking] + DEPOSIT}
    if one.type == "payment" and before[checking] >= PAYMENT:
        return {checking: before[checking] - PAYMENT, other: before[other] + PAYMENT}
    if one.type == "savings":
        change = SAVING if (one.customer + one.other) % 2 else -SAVING
        return {savings: before[savings] + change} if before[savings] + change >= 0 else {}
    if one.type == "check":
        covered = before[savings] + before[checking] >= CHECK
        return {checking: before[checking] - CHECK - (0 if covered else PENALTY)}
    return {}


def _value(cursor: psycopg.Cursor[tuple[Any, ...]]) -> int:
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])
