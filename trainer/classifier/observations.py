"""Transactions of a trace: the parameters that they passed, and the rows that they accessed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from envs.trace_hints import Hints, hints_of
from policies import Signature
from traces.errors import TraceError
from traces.reader import Trace

COLUMNS = ("type", "parameters", "accesses", "outcome")


@dataclass(frozen=True)
class Rows:
    """The rows that transactions accessed, each once per transaction, in the order of access.

    Attributes:
        transactions: the transaction of each row.
        tables: as numbers, in the order of `table_names`.
        keys: unsigned.
        states: the access; of several to a row, the first that writes it, or else the first.
        places: its position, 0 to 1 of the transaction's accesses.
    """

    transactions: np.ndarray
    tables: np.ndarray
    keys: np.ndarray
    states: np.ndarray
    places: np.ndarray

    def filtered(self, which: np.ndarray) -> Rows:
        """Return the selected rows."""
        return Rows(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Observations:
    """Transactions of a trace, in order.

    Attributes:
        signature: of the workload.
        types: the index of each one's type in the signature.
        hints: the parameters that they passed.
        rows: the rows that they accessed.
    """

    signature: Signature
    types: np.ndarray
    hints: Hints
    rows: Rows

    def __len__(self) -> int:
        return len(self.types)

    @property
    def hint_transactions(self) -> np.ndarray:
        """The transaction of each hint."""
        return np.repeat(np.arange(len(self)), self.hints.counts)

    def part(self, first: int, last: int) -> Observations:
        """Return the transactions from number `first` to before number `last`."""
        numbers = np.arange(len(self))
        return self.filtered((numbers >= first) & (numbers < last))

    def filtered(self, which: np.ndarray) -> Observations:
        """Return the selected transactions.

        Args:
            which: for each transaction, whether it is selected.
        """
        passed = which[self.hint_transactions]
        hints = Hints(self.hints.counts[which], self.hints.states[passed], self.hints.keys[passed])
        rows = self.rows.filtered(which[self.rows.transactions])
        number = np.cumsum(which) - 1
        moved = dataclasses.replace(rows, transactions=number[rows.transactions])
        return Observations(self.signature, self.types[which], hints, moved)


def table_names(signature: Signature) -> list[str]:
    """Return the tables of a workload, by number."""
    return sorted({access.table for access in signature.accesses})


def writes_of(signature: Signature) -> np.ndarray:
    """Return for each state whether it conflicts as a write.

    A transaction that scans a table and removes rows of it does not know their keys in advance, as
    with the oldest order. There the scan conflicts (engine/schedule/admission/hinted_states.cc).
    """
    return np.array(
        [
            access.writes
            or (
                access.kind == "scan"
                and any(
                    removing.kind == "remove" and removing.table == access.table
                    for removing in kind.accesses
                )
            )
            for kind, access in signature.rows()
        ]
    )


def observe(trace: Trace, signature: Signature, most: int) -> Observations:
    """Read the last transactions of a trace.

    Args:
        trace: of the workload.
        signature: of the workload.
        most: the maximum number of transactions with the signature's types.

    Raises:
        TraceError: the trace is damaged, of another workload, or has no rows or hints.
    """
    _refuse_other_workload(trace, signature)
    parts: list[Observations] = []
    for batch in trace.batches(COLUMNS):
        if len(part := _observed(batch, signature)):
            parts.append(part)
        while len(parts) > 1 and sum(map(len, parts[1:])) >= most:
            del parts[0]
    if not parts:
        raise TraceError(
            f"{trace.folder}: has no accesses of {', '.join(signature.type_names)}; record a "
            "trace with `heddle trace record`"
        )
    all_parts = _joined(parts)
    if not len(all_parts.hints.keys):
        raise TraceError(
            f"{trace.folder}: no transaction passes a hint, a parameter with the name of one of "
            "its accesses and the row's key as value. Record a workload that passes hints with "
            "`heddle trace record`"
        )
    return all_parts.part(max(0, len(all_parts) - most), len(all_parts))


def _refuse_other_workload(trace: Trace, signature: Signature) -> None:
    declared = {kind.name: kind for kind in trace.manifest.types}
    for kind in signature.types:
        if kind.name not in declared:
            raise TraceError(
                f"{trace.folder}: has the types {', '.join(declared)}, but not {kind.name} of "
                f"{signature.workload}; set workload= to that of the trace"
            )
        tables = [access.table for access in declared[kind.name].accesses]
        if tables != [access.table for access in kind.accesses]:
            raise TraceError(
                f"{trace.folder}: the accesses of type {kind.name} differ from those of "
                f"{signature.workload}; record the trace again"
            )


def _observed(batch: pa.RecordBatch, signature: Signature) -> Observations:
    names = batch.column("type").cast(pa.string()).dictionary_encode()
    place = {name: number for number, name in enumerate(signature.type_names)}
    numbers = np.array([place.get(name, -1) for name in names.dictionary.to_pylist()])
    types = numbers[names.indices.to_numpy(zero_copy_only=False)]
    # An aborted attempt accesses fewer rows than its transaction.
    ended = batch.column("outcome").cast(pa.string()).fill_null("committed")
    known = (
        (types >= 0)
        & batch.column("accesses").is_valid().to_numpy(zero_copy_only=False)
        & (ended.to_numpy(zero_copy_only=False) != "aborted")
    )
    kept = batch.filter(pa.array(known))
    types = types[known]
    hints = hints_of(kept.column("parameters"), types, signature)
    return Observations(signature, types, hints, _rows(kept.column("accesses"), types, signature))


def _rows(accesses: pa.ListArray, types: np.ndarray, signature: Signature) -> Rows:
    counts = np.diff(accesses.offsets.to_numpy())
    flat = accesses.flatten()
    transactions = np.repeat(np.arange(len(types)), counts)
    first_state = np.array([kind.states.start for kind in signature.types], np.int64)
    states = first_state[types][transactions] + flat.field("access").to_numpy(zero_copy_only=False)
    keys = flat.field("key").to_numpy(zero_copy_only=False).view(np.uint64)
    names = table_names(signature)
    tables = np.array([names.index(access.table) for access in signature.accesses])[states]
    starts = np.cumsum(counts) - counts
    position = np.arange(len(states)) - np.repeat(starts, counts)
    places = position / np.repeat(np.maximum(counts, 1), counts)
    # One row at a time, with the first access that writes it before the others.
    order = np.lexsort((position, ~writes_of(signature)[states], keys, tables, transactions))
    rows = Rows(transactions, tables, keys, states, places).filtered(order)
    begins = np.ones(len(order), bool)
    begins[1:] = np.diff(rows.transactions) != 0
    begins[1:] |= (np.diff(rows.tables) != 0) | (rows.keys[1:] != rows.keys[:-1])
    first = np.flatnonzero(begins)
    soonest = np.minimum.reduceat(rows.places, first) if len(first) else rows.places
    once = rows.filtered(first)
    each = Rows(once.transactions, once.tables, once.keys, once.states, soonest)
    return each.filtered(np.lexsort((each.places, each.transactions)))


def _joined(parts: list[Observations]) -> Observations:
    shifts = np.cumsum([0, *(len(part) for part in parts[:-1])])
    return Observations(
        parts[0].signature,
        np.concatenate([part.types for part in parts]),
        Hints(
            *(
                np.concatenate([getattr(part.hints, name) for part in parts])
                for name in Hints.__dataclass_fields__
            )
        ),
        Rows(
            np.concatenate([p.rows.transactions + by for p, by in zip(parts, shifts, strict=True)]),
            *(
                np.concatenate([getattr(part.rows, name) for part in parts])
                for name in ("tables", "keys", "states", "places")
            ),
        ),
    )
