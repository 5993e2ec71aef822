"""Workloads and orders as JSON files.

A workload is a list of transactions, each a list of `[op, key]`: `["r", key]` reads, `["w", key]`
writes, `["*", …]` takes one time unit and touches nothing. Keys are texts or integers from 0, and
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
    cure="leave --order out for the order of the file",
    file="order.json",
    mib_max=64,
)


def read_batch(path: Path) -> Batch:
    """Read a workload.

    Raises:
        ScheduleError: it can't be read, or is none; names the transaction, from 0, and the cure.
    """
    found = _read_list(path, WORKLOAD)
    if not found:
        raise ScheduleError(f"{path}: holds no transaction; {WORKLOAD.name} is {WORKLOAD.shape}")
    return make_batch(
        _transaction(f"{path}: transaction {index}", value) for index, value in enumerate(found)
    )


def read_order(path: Path, size: int) -> Numbers:
    """Read an order of so many transactions.

    Raises:
        ScheduleError: it can't be read, or does not have each of them exactly once.
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
                f"{path}: place {place} has transaction {index} for the second time; name each once"
            )
        seen.add(index)
    if len(found) != size:
        missing = next(index for index in range(size) if index not in seen)
        raise ScheduleError(
            f"{path}: has {len(found)} of {size} transactions; transaction {missing}, for one, is "
            "missing"
        )
    return np.array(found, np.uint32)


def workload_text(transactions: Iterable[Sequence[Operation]]) -> str:
    """A workload's file: a transaction a line."""
    lines = (json.dumps([list(operation) for operation in one]) for one in transactions)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _read_list(path: Path, kind: DocumentKind) -> list[Any]:
    try:
        found = parse(read_text(path, kind), str(path), kind)
    except PolicyFileError as error:
        raise ScheduleError(str(error)) from None
    if not isinstance(found, list):
        raise ScheduleError(f"{path}: holds {shown(found)}; {kind.name} is {kind.shape}")
    return found


def _transaction(place: str, value: Any) -> list[Operation]:
    if not isinstance(value, list):
        raise ScheduleError(
            f'{place} is {shown(value)}; give a list of operations, such as [["r", "x"]]'
        )
    if not value:
        raise ScheduleError(f"{place} has no operation; give it one, or leave it out")
    return [_operation(f"{place}, operation {at}", one) for at, one in enumerate(value)]


def _operation(place: str, value: Any) -> Operation:
    if not isinstance(value, list) or not value or len(value) > 2:
        raise ScheduleError(f'{place} is {shown(value)}; give [op, key], such as ["r", "x"]')
    name = value[0]
    if not isinstance(name, str) or name not in CODES:
        raise ScheduleError(
            f"{place} has the op {shown(name)}; give r (read), w (write) or * (a filler)"
        )
    if name == FILLER:
        return (FILLER, None)
    if len(value) == 1:
        raise ScheduleError(f'{place} has no key; give [op, key], such as ["{name}", "x"]')
    return (name, _key(place, value[1]))


def _key(place: str, key: Any) -> Hashable:
    if isinstance(key, str):
        return key
    if isinstance(key, bool) or not isinstance(key, int) or key < 0:
        raise ScheduleError(f"{place} has the key {shown(key)}; give a text or an integer from 0")
    return key
