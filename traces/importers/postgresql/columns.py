"""Collects transactions as columns of a trace."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from traces.errors import TraceError
from traces.importers.postgresql.sessions import Session, Transaction
from traces.importers.postgresql.templates import Templates
from traces.importers.postgresql.transaction_types import TypeOf, Types
from traces.keys import keys_of
from traces.schema import ACCESS, ACCESS_KINDS, OUTCOMES, TRANSACTION

TABLES_MAX = 1 << 15
"""The number of tables that a trace can number with its 16 bits."""

ACCESSES_OF_A_TABLE = 1 << 16
"""The minimum number of accesses in a table, except the last."""


class Columns:
    """Collects transactions until there are enough for a table.

    Args:
        templates: the templates of the log.
        types: the types of its transactions.
    """

    def __init__(self, templates: Templates, types: Types) -> None:
        self._templates = templates
        self._types = types
        self._transactions = 0
        self._tables: dict[str, int] = {}
        self._table_of_code: list[int] = []
        self._kind_of_code: list[int] = []
        self._clear()

    def _clear(self) -> None:
        self._begins: list[int] = []
        self._sessions: list[int] = []
        self._type_numbers: list[int] = []
        self._outcomes: list[int] = []
        self._parameters: list[list[tuple[str, str]] | None] = []
        self._offsets = [0]
        self._accesses: list[int] = []
        self._codes: list[int] = []
        self._keys: list[str] = []

    def add(self, session: Session, transaction: Transaction, type_: TypeOf, outcome: int) -> None:
        """Add a transaction that has ended."""
        ids = type_.ids
        self._begins.append(transaction.begin_us)
        self._sessions.append(session.number)
        self._type_numbers.append(type_.number)
        self._outcomes.append(outcome)
        failed = transaction.failed
        self._parameters.append([("sqlstate", failed)] if failed else None)
        self._accesses += [ids[code] for code in transaction.codes]
        self._codes += transaction.codes
        self._keys += transaction.keys
        self._offsets.append(len(self._codes))

    def full(self) -> bool:
        """Whether there are enough transactions for a table."""
        return len(self._codes) >= ACCESSES_OF_A_TABLE

    def table(self) -> pa.Table:
        """Return the transactions since the last table."""
        first = self._transactions
        self._transactions += len(self._begins)
        columns = {
            "transaction": np.arange(first, self._transactions, dtype=np.int64),
            "begin": pa.array(self._begins, TRANSACTION.field("begin").type),
            "session": pa.array(self._sessions, pa.int64()),
            "user": pa.nulls(len(self._begins), pa.int64()),
            "type": _words(self._type_numbers, self._types.names, "int16"),
            "parameters": pa.array(self._parameters, TRANSACTION.field("parameters").type),
            "accesses": self._lists(),
            "outcome": _words(self._outcomes, OUTCOMES, "int8"),
        }
        self._clear()
        return pa.table(columns, schema=TRANSACTION)

    def _lists(self) -> pa.Array:
        self._learn_codes()
        codes = np.array(self._codes, dtype=np.int64)
        tables = np.array(self._table_of_code, dtype=np.int16)[codes]
        kinds = np.array(self._kind_of_code, dtype=np.int8)[codes]
        items = pa.StructArray.from_arrays(
            [
                pa.array(self._accesses, pa.int16()),
                _words(tables, list(self._tables), "int16"),
                keys_of(pa.array(self._keys, pa.string())),
                _words(kinds, ACCESS_KINDS, "int8"),
            ],
            fields=list(ACCESS),
        )
        offsets = pa.array(self._offsets, pa.int32())
        return pa.ListArray.from_arrays(offsets, items, type=TRANSACTION.field("accesses").type)

    def _learn_codes(self) -> None:
        """Number the tables of new accesses.

        Raises:
            TraceError: there are more tables than a trace can number.
        """
        for coded in self._templates.coded[len(self._table_of_code) :]:
            table = coded.access.table
            self._table_of_code.append(self._tables.setdefault(table, len(self._tables)))
            self._kind_of_code.append(ACCESS_KINDS.index(coded.access.kind))
        if len(self._tables) > TABLES_MAX:
            raise TraceError(f"more than {TABLES_MAX} tables: select one database with --database")


def _words(
    numbers: list[int] | np.ndarray, words: list[str] | tuple[str, ...], width: str
) -> pa.DictionaryArray:
    indices = pa.array(np.asarray(numbers, dtype=width))
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(words), pa.string()))
