"""Collects the statements of transaction types from a log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traces.errors import TraceError
from traces.importers.words import WORD_BITS, WORDS_MAX
from traces.manifest import Access, TransactionType
from traces.schema import ACCESS_KINDS


class Statements:
    """Numbers the accesses of each type in the order of their first occurrence.

    An access is a name, if the log has one, a table and a kind. Repetitions of an access in a
    transaction, as in a loop, have the same number.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, dict[tuple[int, int, int], int]] = {}

    def numbers(
        self, type_: np.ndarray, statement: np.ndarray, table: np.ndarray, kind: np.ndarray
    ) -> np.ndarray:
        """Return the access ids of accesses that are given as numbers of words.

        Raises:
            TraceError: a type has too many accesses.
        """
        packed = np.zeros(len(table), dtype=np.int64)
        for part in (type_, statement, table, kind):
            packed = packed << WORD_BITS | part
        met, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
        ids = np.zeros(len(met), dtype=np.int16)
        for place in np.argsort(first):
            row = first[place]
            ids[place] = self._number(
                int(type_[row]), (int(statement[row]), int(table[row]), int(kind[row]))
            )
        return ids[inverse]

    def types(
        self, types: Sequence[str], statements: Sequence[str], tables: Sequence[str]
    ) -> tuple[TransactionType, ...]:
        """Return the types with their accesses, in words."""
        return tuple(
            TransactionType(name, _accesses(self._numbers.get(number, {}), statements, tables))
            for number, name in enumerate(types)
        )

    def _number(self, type_: int, what: tuple[int, int, int]) -> int:
        known = self._numbers.setdefault(type_, {})
        if len(known) >= WORDS_MAX:
            raise TraceError(
                f"statement: a type has more than {WORDS_MAX} different statements; "
                "name a column with fewer values"
            )
        return known.setdefault(what, len(known))


def _accesses(
    met: dict[tuple[int, int, int], int], statements: Sequence[str], tables: Sequence[str]
) -> tuple[Access, ...]:
    made: list[Access] = []
    taken: set[str] = set()
    for (statement, table, kind), number in met.items():
        plain = f"{ACCESS_KINDS[kind]}_{tables[table]}"
        # Rows may lack the name, and names of the log may equal composed ones.
        name = (statements[statement] if statements else "") or plain
        if name in taken:
            name = f"{name}_{plain}_{number}"
        while name in taken:
            name = f"{name}_{number}"
        taken.add(name)
        made.append(Access(number, name, tables[table], ACCESS_KINDS[kind]))
    return tuple(made)
