"""Convert histories to the formats of other checkers: dbcop's JSON and Elle's EDN.

Both formats have reads and writes of rows only. Ranges and misses are left out, and a delete is
converted to a write. These checkers can thus confirm an anomaly among existing rows, and miss one
among inserted and deleted rows.

Sources: dbcop (Biswas and Enea, OOPSLA 2019), the JSON of its `verify`; Elle (Kingsbury and
Alvaro, VLDB 2020), the histories of `rw-register` and `list-append`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from envs.history import ENDS, FLAGS, KINDS, History

MOST_LISTED = 5_000_000
"""Maximum number of elements in all lists of an `elle_append` history."""

_ABORTED = ENDS.index("aborted")
_COMMITTED = ENDS.index("committed")
_READ, _WRITE, _REMOVE = KINDS.index("read"), KINDS.index("write"), KINDS.index("remove")
_NO_VERSION = 0


class FormatError(ValueError):
    """A format cannot express a history; the message says why."""


@dataclass
class Event:
    """A read or write of a row.

    Attributes:
        writes: whether it is a write.
        row: number of the row.
        version: number of the row's version, from 1 in version order; 0 for the initial version.
    """

    writes: bool
    row: int
    version: int


@dataclass
class Transaction:
    """The events of a transaction.

    Attributes:
        worker: number of its worker.
        began: time of its begin, on the history's clock.
        ended: time of its end, on the history's clock.
        committed: whether it committed. Of an aborted one only the writes read by others are kept.
        events: its reads and writes, in order.
    """

    worker: int
    began: int
    ended: int
    committed: bool
    events: list[Event] = field(default_factory=list)


@dataclass
class Register:
    """A history reduced to reads and writes of rows.

    Attributes:
        rows: names of the rows, `TABLE/key`, by number.
        transactions: the transactions with events, by worker and in order.
        removes: whether rows were deleted or inserted.
    """

    rows: list[str]
    transactions: list[Transaction]
    removes: bool


def as_register(history: History) -> Register:
    """Return a history with rows and versions by number; see `Register`."""
    ops, attempts = history.operations, history.attempts
    of_row = (ops["kind"] == _READ) | (ops["kind"] == _WRITE) | (ops["kind"] == _REMOVE)
    of_row &= (ops["flags"] & FLAGS["own"]) == 0
    keys = np.stack([ops["table"].astype(np.uint64), ops["key"]], axis=1)[of_row]
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    row_of = np.full(len(ops), -1, np.int64)
    row_of[of_row] = inverse.reshape(-1)
    versions = _number_versions(history, row_of)
    ends = np.cumsum(attempts["operations"], dtype=np.int64)
    published = {
        (int(a["worker"]), int(a["incarnation"])): at
        for at, a in enumerate(attempts)
        if a["incarnation"]
    }
    transactions = [
        Transaction(
            int(a["worker"]), int(a["began"]), int(a["ended"]), bool(a["end"] == _COMMITTED)
        )
        for a in attempts
    ]
    left: dict[tuple[int, int], int] = {}  # (attempt, row): the version it left
    for at, end in enumerate(ends):
        for index in range(int(end - attempts["operations"][at]), int(end)):
            if row_of[index] >= 0 and ops["kind"][index] != _READ:
                left[at, int(row_of[index])] = versions[index]
    extra = max(versions, default=0)
    for at, end in enumerate(ends):
        for index in range(int(end - attempts["operations"][at]), int(end)):
            row = int(row_of[index])
            if row < 0:
                continue
            version = versions[index]
            if ops["kind"][index] == _READ and ops["flags"][index] & FLAGS["uncommitted"]:
                source = _source(int(ops["version"][index]), published)
                version = left.get((source, row), _NO_VERSION)
                if version == _NO_VERSION and source >= 0:  # the source did not commit
                    extra += 1
                    version = left[source, row] = extra
                    transactions[source].events.append(Event(True, row, version))
            transactions[at].events.append(Event(bool(ops["kind"][index] != _READ), row, version))
    nonempty = [transaction for transaction in transactions if transaction.events]
    names = [f"{history.tables[int(table)]}/{int(key)}" for table, key in unique]
    inserted = (ops["flags"] & FLAGS["inserted"]) != 0
    removes = bool(np.any(ops["kind"] == _REMOVE) or np.any(inserted))
    return Register(names, nonempty, removes)


def dbcop(history: History) -> str:
    """Return the JSON document that `dbcop verify` reads."""
    register = as_register(history)
    # In a damaged history the numbers of the workers need not be consecutive.
    of_worker: dict[int, list[dict[str, object]]] = {
        int(worker): [] for worker in np.unique(history.attempts["worker"])
    }
    for transaction in register.transactions:
        events = [_dbcop_event(event) for event in transaction.events]
        of_worker[transaction.worker].append({"events": events, "committed": transaction.committed})
    sessions = list(of_worker.values())
    now = datetime.now(UTC).isoformat()
    params = {
        "id": 0,
        "n_node": len(sessions),
        "n_variable": len(register.rows),
        "n_transaction": max((len(session) for session in sessions), default=0),
        "n_event": max((len(t.events) for t in register.transactions), default=0),
    }
    document = {"params": params, "info": "heddle", "start": now, "end": now, "data": sessions}
    return json.dumps(document) + "\n"


def elle_register(history: History) -> str:
    """Return a history for Elle's `rw-register`, one operation per line."""
    register = as_register(history)

    def word(event: Event) -> str:
        if event.writes:
            return f"[:w {event.row} {event.version}]"
        return f"[:r {event.row} {event.version or 'nil'}]"

    return "".join(_elle_lines(register, word))


def elle_append(history: History) -> str:
    """Return a history for Elle's `list-append`, where each write of a row is an append.

    Raises:
        FormatError: rows are inserted or deleted, or the lists exceed `MOST_LISTED` elements.
    """
    register = as_register(history)
    if register.removes:
        raise FormatError("rows are inserted or deleted, which lists can't express")
    listed = sum(e.version for t in register.transactions for e in t.events if not e.writes)
    if listed > MOST_LISTED:
        raise FormatError(
            f"the lists would hold {listed:,} elements, the maximum is {MOST_LISTED:,}; "
            "use a shorter run"
        )

    def word(event: Event) -> str:
        if event.writes:
            return f"[:append {event.row} {event.version}]"
        return f"[:r {event.row} [{' '.join(map(str, range(1, event.version + 1)))}]]"

    return "".join(_elle_lines(register, word))


FORMATS: dict[str, Callable[[History], str]] = {
    "dbcop": dbcop,
    "elle_register": elle_register,
    "elle_append": elle_append,
}
"""The formats by name. To add one, write a function here and register it."""


def _number_versions(history: History, row_of: np.ndarray) -> list[int]:
    """Return the number of the row version of each operation, 0 for versions before the run."""
    ops = history.operations
    writes = (row_of >= 0) & (ops["kind"] != _READ)
    order = np.lexsort((ops["version"], ops["place"], row_of))
    numbers: dict[tuple[int, int, int], int] = {}
    made: dict[int, int] = {}
    for index in order[writes[order]]:
        row = int(row_of[index])
        made[row] = made.get(row, 0) + 1
        numbers[row, int(ops["place"][index]), int(ops["version"][index])] = made[row]
    return [
        numbers.get((int(row), int(place), int(version)), _NO_VERSION)
        for row, place, version in zip(row_of, ops["place"], ops["version"], strict=True)
    ]


def _source(packed: int, published: dict[tuple[int, int], int]) -> int:
    """Return the attempt that wrote an uncommitted version, -1 if unknown."""
    worker, incarnation = packed >> 48, (packed & ((1 << 48) - 1)) >> 4
    return published.get((worker, incarnation), -1)


def _dbcop_event(event: Event) -> dict[str, dict[str, int | None]]:
    version = event.version if event.version != _NO_VERSION else None
    return {"Write" if event.writes else "Read": {"variable": event.row, "version": version}}


def _elle_lines(register: Register, word: Callable[[Event], str]) -> Iterator[str]:
    """Yield the invocation and the completion of each transaction, in the order of their times."""
    moments: list[tuple[int, int, Transaction, str]] = []
    for at, transaction in enumerate(register.transactions):
        end = "ok" if transaction.committed else "fail"
        moments += [
            (transaction.began, at, transaction, "invoke"),
            (transaction.ended, at, transaction, end),
        ]
    moments.sort(key=lambda moment: moment[:2])
    for index, (time, _, transaction, kind) in enumerate(moments):
        value = " ".join(word(event) for event in transaction.events)
        yield (
            f"{{:index {index}, :type :{kind}, :process {transaction.worker}, :time {time}, "
            f":f :txn, :value [{value}]}}\n"
        )
