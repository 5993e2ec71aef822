"""The scheduling model in its simplest form: it keeps and searches all entries of all keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Operation = tuple[str, object]


class Entry(NamedTuple):
    """A placed operation."""

    op: str
    time: int
    end: int  # of its transaction


def _mvtso(op: str, entries: Sequence[Entry]) -> int:
    return 1 + max((one.time for one in entries if "w" in (op, one.op)), default=0)


def _lock(op: str, entries: Sequence[Entry]) -> int:
    if not entries:
        return 0
    newest = entries[-1]
    return newest.end + 1 if "w" in (op, newest.op) else newest.time


def _occ(op: str, entries: Sequence[Entry]) -> int:
    if not entries:
        return 0
    newest = sorted(entries, key=lambda one: one.time)[-1]  # stable: the last placed of equal times
    if "w" in (op, newest.op):
        return newest.end
    return 1 + max((one.time for one in entries if one.op == "w"), default=0)


RULES = {"mvtso": _mvtso, "lock": _lock, "occ": _occ}


def starts(
    transactions: Sequence[Sequence[Operation]], order: Iterable[int], protocol: str
) -> list[int]:
    """Return the start time of each transaction of the order."""
    entries: dict[object, list[Entry]] = {}
    found = []
    for index in order:
        transaction = transactions[index]
        start = 1
        while not all(
            start + at >= RULES[protocol](op, entries.get(key, []))
            for at, (op, key) in enumerate(transaction)
            if op != "*"
        ):
            start += 1
        end = start + len(transaction) - 1
        written = set()
        for at, (op, key) in enumerate(transaction):
            if op == "*":
                continue
            of_key = entries.setdefault(key, [])
            if op == "w":
                written.add(key)
            until = end
            if protocol == "lock":
                op = "w" if key in written else op
                if op == "r" and of_key and of_key[-1].op == "r":
                    until = max(end, of_key[-1].end)
            of_key.append(Entry(op, start + at, until))
        found.append(start)
    return found


def makespan(
    transactions: Sequence[Sequence[Operation]], order: Sequence[int], protocol: str
) -> int:
    """Return the latest end time."""
    begun = starts(transactions, order, protocol)
    return max(
        start + len(transactions[index]) - 1 for start, index in zip(begun, order, strict=True)
    )
