"""A small shop with orders and cancellations, whose trace can be replayed."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.traces.some_transactions import NOON, manifest, row, write
from traces.manifest import Access, TransactionType

ORDER = TransactionType(
    "order",
    (
        Access(0, "read_goods", "goods", "read"),
        Access(1, "sell_goods", "goods", "update"),
        Access(2, "add_order", "orders", "insert"),
    ),
)
CANCEL = TransactionType(
    "cancel",
    (
        Access(0, "list_orders", "orders", "scan"),
        Access(1, "drop_order", "orders", "delete"),
        Access(2, "return_goods", "goods", "update"),
    ),
)
CHAT = TransactionType("chat")
TYPES = (ORDER, CANCEL, CHAT)


def made(type_: TransactionType, *accesses: tuple[int, int]) -> list[dict[str, Any]]:
    """Return accesses of a type, from their numbers and keys."""
    declared = [type_.accesses[number] for number, _ in accesses]
    return [
        {"access": number, "table": one.table, "key": key, "kind": one.kind}
        for one, (number, key) in zip(declared, accesses, strict=True)
    ]


def order(number: int, goods: int, **changed: Any) -> dict[str, Any]:
    accesses = made(ORDER, (0, goods), (1, goods), (2, 1000 + number))
    return row(number, **{"type": "order", "session": number % 10, "accesses": accesses, **changed})


def cancel(number: int, ordered: int, goods: int, **changed: Any) -> dict[str, Any]:
    accesses = made(CANCEL, (0, 1000 + ordered), (1, 1000 + ordered), (2, goods))
    return row(
        number, **{"type": "cancel", "session": ordered % 10, "accesses": accesses, **changed}
    )


def day(
    begin: datetime = NOON, transactions: int = 300, sessions: int = 10
) -> list[dict[str, Any]]:
    """Return three orders and a cancellation, repeatedly, one each second."""
    rows = []
    for number in range(transactions):
        is_order = number % 4 < 3
        ordered = number if is_order else number - 3
        told = {"begin": begin + timedelta(seconds=number), "session": ordered % sessions}
        goods = number * number % 7 - 3
        rows.append(
            order(number, goods, **told) if is_order else cancel(number, ordered, 5, **told)
        )
    return rows


def shop(folder: Path, *rows: dict[str, Any]) -> Path:
    """Write a trace of the shop; by default of `day()`."""
    return write(folder, list(rows) or day(), manifest=manifest(types=TYPES))
