"""Checks transactions against the types that the manifest of their trace declares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from traces.manifest import TransactionType
from traces.schema import ACCESS_KINDS
from traces.validation import Fault, rows_of_items

_UNKNOWN = -1


class DeclaredAccesses:
    """Checks accesses against those that the manifest declares.

    A type without a declared access may make any.

    Args:
        types: the types of the manifest.
    """

    def __init__(self, types: Sequence[TransactionType]) -> None:
        self._types = types
        self._tables = sorted({made.table for type_ in types for made in type_.accesses})
        self._counts = np.array([len(type_.accesses) for type_ in types] + [0])
        self._firsts = np.cumsum(self._counts) - self._counts
        every = [made for type_ in types for made in type_.accesses]
        self._table = np.array([self._tables.index(made.table) for made in every], np.int64)
        self._kind = np.array([ACCESS_KINDS.index(made.kind) for made in every], np.int64)

    def first_fault(self, batch: pa.RecordBatch) -> Fault | None:
        """Return the first fault of a batch whose `type` and `accesses` are valid by themselves."""
        if not {"type", "accesses"} <= set(batch.schema.names) or not len(self._table):
            return None
        lists = batch["accesses"]
        items = lists.flatten()
        rows = rows_of_items(lists)
        type_ = word_numbers(batch["type"], [declared.name for declared in self._types])[rows]
        counts = self._counts[type_]
        access = items.field("access").to_numpy()
        known = access < counts
        place = np.where(known, self._firsts[type_] + access, 0)
        table, kind = items.field("table"), items.field("kind")
        right = (self._table[place] == word_numbers(table, self._tables)) & (
            self._kind[place] == word_numbers(kind, ACCESS_KINDS)
        )
        wrong = (counts > 0) & ~(known & right)
        if not wrong.any():
            return None
        item = int(wrong.argmax())
        row = int(rows[item])
        return Fault(row, "accesses", self._words(int(type_[item]), items[item].as_py()))

    def _words(self, type_: int, made: dict[str, object]) -> str:
        declared = self._types[type_]
        number = int(str(made["access"]))
        if number >= len(declared.accesses):
            return (
                f"{declared.name} has the accesses 0 to {len(declared.accesses) - 1}, "
                f"but this is access {number}"
            )
        wanted = declared.accesses[number]
        return (
            f"access {number} of {declared.name} must be {wanted.kind} {wanted.table}, "
            f"but is {made['kind']} {made['table']}"
        )


def word_numbers(values: pa.DictionaryArray, words: Sequence[str]) -> np.ndarray:
    """Return the index of each value in `words`, or -1."""
    known = {word: number for number, word in enumerate(words)}
    meant = [known.get(word, _UNKNOWN) for word in values.dictionary.to_pylist()]
    if not meant:
        return np.zeros(len(values), dtype=np.int64)
    return np.array(meant, dtype=np.int64)[values.indices.to_numpy()]
