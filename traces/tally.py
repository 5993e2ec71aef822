"""Counts the transactions and accesses of a trace by type."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from traces.order import begins_of
from traces.output import counted, counts_table
from traces.spelling import visible
from traces.trace_files import DAY_US, day_of

COLUMNS = ("begin", "type", "accesses")
"""The columns that are needed for counting."""


class Tally:
    """Counts of transactions and accesses.

    Attributes:
        transactions: transactions by type.
        accesses: known accesses by type.
        days: transactions by day, numbered from 1970-01-01.
    """

    def __init__(self) -> None:
        self.transactions: Counter[str] = Counter()
        self.accesses: Counter[str] = Counter()
        self.days: Counter[int] = Counter()

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Count transactions; the table needs the columns `COLUMNS`."""
        if not rows.num_rows:
            return
        days, counts = np.unique(begins_of(rows) // DAY_US, return_counts=True)
        self.days.update(dict(zip(days.tolist(), counts.tolist(), strict=True)))
        types = rows["type"]
        encoded = types.combine_chunks() if isinstance(types, pa.ChunkedArray) else types
        names = encoded.dictionary.to_pylist()
        numbers = encoded.indices.to_numpy()
        lengths = pc.list_value_length(rows["accesses"]).fill_null(0).to_numpy()
        made = np.bincount(numbers, minlength=len(names))
        touched = np.bincount(numbers, weights=lengths, minlength=len(names))
        for name, transactions, accesses in zip(names, made, touched, strict=True):
            self.transactions[name] += int(transactions)
            self.accesses[name] += int(accesses)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts for JSON: in total, by day (UTC), and by type."""
        return {
            "transactions": self.transactions.total(),
            "accesses": self.accesses.total(),
            "days": {str(day_of(day)): count for day, count in sorted(self.days.items())},
            "counts": [
                {"type": name, "transactions": count, "accesses": self.accesses[name]}
                for name, count in self.transactions.most_common()
                if count
            ],
        }

    def transactions_text(self) -> str:
        """Return the number of transactions and their days (UTC) for people."""
        count = counted(self.transactions.total(), "transaction")
        if not self.days:
            return count
        first, last = day_of(min(self.days)), day_of(max(self.days))
        if len(self.days) == 1:
            return f"{count} on {first} (UTC)"
        return f"{count} on {len(self.days)} days from {first} to {last} (UTC)"

    def table(self, most: int | None = None) -> Table:
        """Return a table with a row for each type and one for the total.

        Args:
            most: the maximum number of rows for types; the least frequent types share the last.
        """
        table = counts_table("", "type", "transactions", "accesses", "accesses each")
        types = [(name, count) for name, count in self.transactions.most_common() if count]
        shown = types if most is None or len(types) <= most else types[: most - 1]
        for name, count in shown:
            table.add_row(*_cells(name, count, self.accesses[name]))
        if others := types[len(shown) :]:
            accesses = sum(self.accesses[name] for name, _ in others)
            transactions = sum(count for _, count in others)
            table.add_row(*_cells(f"{len(others):,} other types", transactions, accesses))
        table.add_section()
        table.add_row(*_cells("all", self.transactions.total(), self.accesses.total()))
        return table


def _cells(name: str, transactions: int, accesses: int) -> tuple[str, str, str, str]:
    each = f"{accesses / transactions:.1f}" if transactions else "-"
    return visible(name), f"{transactions:,}", f"{accesses:,}", each
