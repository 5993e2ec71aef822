"""The order of transactions: by `begin`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa


def begins_of(table: pa.Table | pa.RecordBatch) -> np.ndarray:
    """Return when transactions began: int64, microseconds since 1970 (UTC)."""
    column = table.column("begin")
    return column.cast(pa.int64()).to_numpy()


def in_order(table: pa.Table) -> pa.Table:
    """Sort transactions by `begin`; the sort is stable."""
    begins = begins_of(table)
    if (np.diff(begins) >= 0).all():
        return table
    return table.take(pa.array(np.argsort(begins, kind="stable")))


def merged(streams: list[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """Merge ordered streams into one.

    Args:
        streams: streams of tables, each ordered by `begin`.
    """
    heads = [(stream, head) for stream in streams if (head := next(stream, None)) is not None]
    while heads:
        # No later row of any stream began before this time.
        known = min(begins_of(head)[-1] for _, head in heads)
        ready, rest = [], []
        for stream, head in heads:
            count = int(np.searchsorted(begins_of(head), known, side="right"))
            ready.append(head.slice(0, count))
            left = head.slice(count) if count < head.num_rows else next(stream, None)
            if left is not None:
                rest.append((stream, left))
        yield in_order(pa.concat_tables(ready).unify_dictionaries())
        heads = rest
