"""Imported logs as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from traces.importers.base import LeftOut
from traces.importers.postgresql.importer import PostgresqlImporter
from traces.keys import keys_of
from traces.manifest import TransactionType
from traces.validation import first_fault

Access = tuple[str, str, int]
"""Kind, table, key."""


@dataclass(frozen=True)
class Imported:
    """The result of an import."""

    table: pa.Table
    types: tuple[TransactionType, ...]
    left_out: LeftOut

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.table.to_pylist()

    def accesses(self) -> list[tuple[str, list[Access]]]:
        """Return the outcome and the accesses of each transaction, in the order of begin."""
        rows = sorted(self.rows, key=lambda row: (row["begin"], row["transaction"]))
        return [
            (row["outcome"], [(one["kind"], one["table"], one["key"]) for one in row["accesses"]])
            for row in rows
        ]


def imported(*sources: Path, strict: bool = False, **options: Any) -> Imported:
    """Import logs, and check that the tables are valid."""
    left_out = LeftOut(strict)
    importer = PostgresqlImporter(sources, left_out, **options)
    tables = list(importer.tables())
    table = pa.concat_tables(tables).unify_dictionaries()
    types = importer.types()
    for batch in table.to_batches():
        assert first_fault(batch, [one.name for one in types]) is None
    assert importer.bytes_read == importer.bytes_total
    return Imported(table, types, left_out)


def key(*values: object) -> int:
    """Return the key of these values."""
    return int(keys_of(pa.array(["\x1f".join(str(value) for value in values)]))[0].as_py())
