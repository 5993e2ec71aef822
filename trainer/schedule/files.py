"""Workloads and orders as JSON files.

A workload is a list of transactions, each a list of `[op, key]`: `["r", key]` reads, `["w", key]`
writes, and `["*", …]` takes one time unit without access. Keys are texts or integers from 0, and
`1` is not `"1"`. An order is a list of indexes of transactions, from 0.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policies.errors import PolicyFileError, shown
from policies.format import read_text
from policies.json_text import DocumentKind, parse
from trainer.schedule.batch import CODES, Batch, Numbers, Operation, make_batch
from trainer.schedule.errors import ScheduleError

FILLER = "*"
WORKLOAD = DocumentKind(
    name="a workload",
    shape='a JSON list of transactions, such as [[["r", "x"], ["w", "z"]]]',
    cure="make one with `heddle lab generate`",
    file="workload.json",
    mib_max=128,
)
ORDER = DocumentKind(
    name="an order",
    shape="a JSON list of transactions' indexes, such as [0, 2, 1]",
    cure="omit --order to use the order of the file",
    file="order.json",
    mib_max=64,
)


def read_batch(path: Path) -> Batch:
    """Read a workload.

    Raises:
        ScheduleError: the file is no workload; the message names the transaction, from 0.
    """
    found = _read_list(path, WORKLOAD)
    if not found:
        raise ScheduleError(f"{path}: has no transactions; {WORKLOAD.name} is {WORKLOAD.shape}")
    return make_batch(
        _transaction(f"{path}: transaction {index}", value) for index, value in enumerate(found)
    )


def read_order(path: Path, size: int) -> Numbers:
    """Read an order of `size` transactions.

    Raises:
        ScheduleError: the file is unreadable, or does not have each of them exactly once.
    """
    found = _read_list(path, ORDER)
    seen: set[int] = set()
    for place, index in enumerate(found):
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < size:
            raise ScheduleError(
                f"{path}: place {place} has {shown(index)}; the workload's transactions are "
                f"0 to {size - 1}"
            )
        if index in seen:
            raise ScheduleError(
                f"{path}: place {place} repeats transaction {index}; name each one once"
            )
        seen.add(index)
    if len(found) != size:
        missing = next(index for index in range(size) if index not in seen)
        raise ScheduleError(
            f"{path}: has {len(found)} of {size} transactions; the first missing one is {missing}"
        )
    return np.array(found, np.uint32)


def workload_text(transactions: Iterable[Sequence[Operation]]) -> str:
    """Return the text of a workload's file: one line per transaction."""
    lines = (
        json.dumps([list(operation) for operation in transaction]) for transaction in transactions
    )
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _read_list(path: Path, kind: DocumentKind) -> list[Any]:
    try:
        found = parse(read_text(path, kind), str(path), kind)
    except PolicyFileError as error:
        raise ScheduleError(str(error)) from None
    if not isinstance(found, list):
        raise ScheduleError(f"{path}: is {shown(found)}; {kind.name} is {kind.shape}")
    return found


def _transaction(place: str, value: Any) -> list[Operation]:
    if not isinstance(value, list):
        raise ScheduleError(
            f'{place} is {shown(value)}; must be a list of operations, such as [["r", "x"]]'
        )
    if not value:
        raise ScheduleError(f"{place} has no operations; add one, or remove the transaction")
    return [_operation(f"{place}, operation {at}", operation) for at, operation in enumerate(value)]


def _operation(place: str, value: Any) -> Operation:
    if not isinstance(value, list) or not value or len(value) > 2:
        raise ScheduleError(f'{place} is {shown(value)}; must be [op, key], such as ["r", "x"]')
    name = value[0]
    if not isinstance(name, str) or name not in CODES:
        raise ScheduleError(
            f"{place} has the op {shown(name)}; must be r (read), w (write) or * (a filler)"
        )
    if name == FILLER:
        return (FILLER, None)
    if len(value) == 1:
        raise ScheduleError(f'{place} has no key; must be [op, key], such as ["{name}", "x"]')
    return (name, _key(place, value[1]))


def _key(place: str, key: Any) -> Hashable:
    if isinstance(key, str):
        return key
    if isinstance(key, bool) or not isinstance(key, int) or key < 0:
        raise ScheduleError(f"{place} has the key {shown(key)}; must be a text or an integer ≥ 0")
    return key
