"""The order of transactions: by `begin`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa


def begins_of(table: pa.Table | pa.RecordBatch) -> np.ndarray:
    """When transactions began: int64, microseconds since 1970 (UTC)."""
    column = table.column("begin")
    return column.cast(pa.int64()).to_numpy()


def in_order(table: pa.Table) -> pa.Table:
    """The same transactions in the order of `begin`; those that began as one stay as they are."""
    begins = begins_of(table)
    if (np.diff(begins) >= 0).all():
        return table
    return table.take(pa.array(np.argsort(begins, kind="stable")))


def merged(streams: list[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """One ordered stream out of several.

    Args:
        streams: of tables, each stream in the order of `begin` throughout.
    """
    heads = [(stream, head) for stream in streams if (head := next(stream, None)) is not None]
    while heads:
        # What comes later in any stream began no earlier than this.
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
