"""Convert a trace that the engine recorded during a run to the trace schema.

The engine records the accesses that the stored procedures request
(`engine/observe/recorded_trace.h`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from envs.trace_hints import hints_column
from policies import Signature
from traces.importers.columns import access_lists, transaction_table, words_column
from traces.manifest import Access, TransactionType
from traces.order import begins_of
from traces.schema import ACCESS_KINDS, OUTCOMES, TRANSACTION

KINDS = {
    "read": "read",
    "update": "update",
    "insert": "insert",
    "remove": "delete",
    "scan": "scan",
    "read_modify_write": "update",
}
"""The kind of access in a trace, by the kind in a signature."""

BLOCK = 1 << 17
"""Number of transactions per table."""


class EngineTrace(Protocol):
    """The interface of `engine._engine.RecordedTrace`."""

    @property
    def began_us(self) -> int:
        """Time at which the trace begins, in microseconds since 1970 (UTC)."""

    @property
    def workers(self) -> int:
        """Number of workers."""

    def transactions(self, worker: int) -> np.ndarray:
        """Return a worker's transactions, in order, as a structured array.

        Its fields are `began_us` (since the begin of the trace), `accesses` and `hints` (numbers of
        the transaction's accesses and hints), `type`, `rolled_back`, and `on_snapshot` (1 for a
        transaction on a snapshot, whose accesses are not recorded).
        """

    def accesses(self, worker: int, first: int, count: int) -> np.ndarray:
        """Return `count` of a worker's accesses from number `first`, with `key` and `state`."""

    def hints(self, worker: int, first: int, count: int) -> np.ndarray:
        """Return `count` of a worker's hints from number `first`, with `key` and `state`."""


@dataclass(frozen=True)
class RecordedTrace:
    """The transactions of a run on real cores, with the accesses that they requested.

    Attributes:
        recorded: the engine's recording.
        signature: signature of the workload.
        type_names: names of all transaction types in the engine's order: those of the signature,
            then those that only read snapshots.
    """

    recorded: EngineTrace
    signature: Signature
    type_names: tuple[str, ...]

    @property
    def types(self) -> tuple[TransactionType, ...]:
        """The transaction types in the form of a trace's manifest."""
        declared = [
            TransactionType(
                kind.name,
                tuple(
                    Access(number, access.name, access.table, KINDS[access.kind])
                    for number, access in enumerate(kind.accesses)
                ),
            )
            for kind in self.signature.types
        ]
        others = [TransactionType(name) for name in self.type_names[len(declared) :]]
        return (*declared, *others)

    def tables(self, sessions: int) -> Iterator[pa.Table]:
        """Yield all transactions in the trace schema, in the order of `begin`, block by block.

        Args:
            sessions: number of sessions per worker; its transactions belong to them in turn.
        """
        workers = [_Worker(self.recorded, number) for number in range(self.recorded.workers)]
        begins = np.sort(np.concatenate([worker.began_us for worker in workers]))
        done = 0
        while done < len(begins):
            last = begins[min(done + BLOCK, len(begins)) - 1]
            parts = [
                part
                for number, worker in enumerate(workers)
                if (part := self._table(worker, last, number * sessions, sessions)).num_rows
            ]
            block = pa.concat_tables(parts)
            order = np.argsort(begins_of(block), kind="stable")
            ids = pa.array(np.arange(done, done + len(order)))
            yield block.take(order).set_column(0, TRANSACTION.field("transaction"), ids)
            done += len(order)

    def _table(self, worker: _Worker, last_us: int, first_session: int, sessions: int) -> pa.Table:
        """Return a worker's next transactions up to a time, with ids that are still 0."""
        first, rows, accesses, hints = worker.until(last_us)
        types = rows["type"].astype(np.int64)
        known = rows["on_snapshot"] == 0
        begin = self.recorded.began_us + rows["began_us"].astype(np.int64)
        outcome = np.where(
            rows["rolled_back"] != 0, OUTCOMES.index("rolled_back"), OUTCOMES.index("committed")
        )
        return transaction_table(
            {
                "transaction": np.zeros(len(rows), np.int64),
                "begin": pa.array(begin).cast(TRANSACTION.field("begin").type),
                "session": first_session + (first + np.arange(len(rows))) % sessions,
                "type": words_column(types, self.type_names, "type"),
                "parameters": hints_column(
                    rows["hints"].astype(np.int64), hints["state"], hints["key"], self.signature
                ),
                "accesses": self._accesses(rows["accesses"].astype(np.int64), known, accesses),
                "outcome": words_column(outcome, OUTCOMES, "outcome"),
            }
        )

    def _accesses(self, counts: np.ndarray, known: np.ndarray, made: np.ndarray) -> pa.Array:
        """Return the column `accesses`; null for transactions whose accesses are unknown."""
        declared = self.signature.accesses
        tables = sorted({access.table for access in declared})
        state = made["state"].astype(np.int64)
        key = made["key"].view(np.int64) if len(made) else made["key"].astype(np.int64)
        kept = ~self._read_before_write(state, key, counts)
        ends = np.cumsum(counts)
        kept_before = np.concatenate([[0], np.cumsum(kept)])
        offsets = kept_before[np.concatenate([[0], ends])]
        state, key = state[kept], key[kept]
        column = access_lists(
            offsets,
            self._access_numbers()[state],
            (np.array([tables.index(access.table) for access in declared])[state], tables),
            key,
            np.array([ACCESS_KINDS.index(KINDS[access.kind]) for access in declared])[state],
        )
        if known.all():
            return column
        starts = pa.array(offsets, pa.int32(), mask=np.append(~known, False))
        return pa.ListArray.from_arrays(starts, column.values, type=column.type)

    def _access_numbers(self) -> np.ndarray:
        """Return the number of each state within its type."""
        return np.array([n for kind in self.signature.types for n in range(len(kind.accesses))])

    def _read_before_write(
        self, state: np.ndarray, key: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Return which accesses read a row that the next access, of the same state, updates.

        A trace has one access for both, as the signature does.
        """
        kinds = [access.kind for access in self.signature.accesses]
        is_both = np.array([kind == "read_modify_write" for kind in kinds])
        found = np.zeros(len(state), bool)
        found[:-1] = is_both[state[:-1]] & (state[:-1] == state[1:]) & (key[:-1] == key[1:])
        last_of_each = np.cumsum(counts)[counts > 0] - 1
        found[last_of_each] = False
        return found


class _Worker:
    """Reads one worker's part of the recording in blocks."""

    def __init__(self, recorded: EngineTrace, number: int) -> None:
        self._recorded = recorded
        self._number = number
        self._transactions = recorded.transactions(number)
        self._next = 0
        self._next_access = 0
        self._next_hint = 0

    @property
    def began_us(self) -> np.ndarray:
        return self._transactions["began_us"]

    def until(self, last_us: int) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
        """Read the next transactions, up to those that began at `last_us`.

        Returns:
            The number of the first one, the transactions, their accesses and their hints.
        """
        first = self._next
        self._next = int(np.searchsorted(self.began_us, last_us, side="right"))
        rows = self._transactions[first : self._next]
        count = int(rows["accesses"].sum(dtype=np.int64))
        accesses = self._recorded.accesses(self._number, self._next_access, count)
        self._next_access += count
        passed = int(rows["hints"].sum(dtype=np.int64))
        hints = self._recorded.hints(self._number, self._next_hint, passed)
        self._next_hint += passed
        return first, rows, accesses, hints
