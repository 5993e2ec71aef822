"""Checks the values of a trace beyond their types."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traces.errors import shown
from traces.schema import ACCESS_KINDS, OUTCOMES, TRANSACTION


@dataclass(frozen=True)
class Fault:
    """An invalid value: its row, its column, and what is wrong with it."""

    row: int
    column: str
    words: str


def first_fault(batch: pa.RecordBatch, types: Collection[str] | None = None) -> Fault | None:
    """Return the first fault of a batch.

    Args:
        batch: any columns of `TRANSACTION`.
        types: the permitted names of transaction types; None: any.
    """
    for column in batch.schema.names:
        values = batch.column(column)
        if not TRANSACTION.field(column).nullable and values.null_count:
            return Fault(_first(values.is_null()), column, "is null")
        fault = _fault_of(column, values, types)
        if fault is not None:
            return fault
    return None


def _fault_of(column: str, values: pa.Array, types: Collection[str] | None) -> Fault | None:
    if column == "accesses":
        return _fault_in_accesses(values)
    if column == "type" and types is not None:
        return _unknown_word(values, types, column)
    if column == "outcome":
        return _unknown_word(values, OUTCOMES, column)
    return None


def _fault_in_accesses(lists: pa.ListArray) -> Fault | None:
    items = lists.flatten()
    fault = _fault_of_item(items)
    if fault is None:
        return None
    return Fault(int(rows_of_items(lists)[fault.row]), f"accesses.{fault.column}", fault.words)


def rows_of_items(lists: pa.ListArray) -> np.ndarray:
    """Return the row of each item of `lists.flatten()`."""
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(len(lists)), lengths)


def _fault_of_item(items: pa.StructArray) -> Fault | None:
    if items.null_count:
        return Fault(_first(items.is_null()), "item", "is null")
    for child in items.type:
        values = items.field(child.name)
        if values.null_count:
            return Fault(_first(values.is_null()), child.name, "is null")
    negative = pc.less(items.field("access"), 0)
    if pc.any(negative).as_py():
        row = _first(negative)
        return Fault(row, "access", f"must be 0 or more, not {items.field('access')[row]}")
    return _unknown_word(items.field("kind"), ACCESS_KINDS, "kind")


def _unknown_word(values: pa.DictionaryArray, known: Collection[str], column: str) -> Fault | None:
    words, wanted = values.dictionary.to_pylist(), frozenset(known)
    unknown = [number for number, word in enumerate(words) if word not in wanted]
    if not unknown:
        return None
    used = pc.is_in(values.indices, value_set=pa.array(unknown, values.indices.type))
    if not pc.any(used).as_py():
        return None
    row = _first(used)
    return Fault(
        row, column, f"must be one of {', '.join(known)}, not {shown(values[row].as_py())}"
    )


def _first(mask: pa.Array) -> int:
    return int(np.argmax(mask.fill_null(False).to_numpy(zero_copy_only=False)))
