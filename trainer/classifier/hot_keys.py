"""Hot keys: many transactions access them, and some of those write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policies import Signature
from trainer.classifier.observations import Observations, Rows, table_names, writes_of

MOST = 2048
"""Maximum number of hot keys in the engine (engine/schedule/admission/operation.h)."""


@dataclass(frozen=True)
class HotKeys:
    """The hot keys of each table, the hottest first.

    Attributes:
        by_table: by the table's number.
    """

    by_table: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return sum(map(len, self.by_table))

    def as_dict(self, signature: Signature) -> dict[str, list[int]]:
        """Return them by the table's name, without tables that have none."""
        names = table_names(signature)
        return {
            names[table]: [int(key) for key in keys]
            for table, keys in enumerate(self.by_table)
            if len(keys)
        }

    def heats(self, tables: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Return the heat of keys: a table's n hot keys have n down to 1, other keys 0."""
        heats = np.zeros(len(keys), np.int64)
        for table, hot in enumerate(self.by_table):
            if not len(hot):
                continue
            ours = np.flatnonzero(tables == table)
            order = np.argsort(hot)
            at = np.minimum(np.searchsorted(hot[order], keys[ours]), len(hot) - 1)
            rank = order[at]
            heats[ours] = np.where(hot[rank] == keys[ours], len(hot) - rank, 0)
        return heats

    def among(self, rows: Rows) -> Rows:
        """Return the rows that are hot."""
        return rows.filtered(self.heats(rows.tables, rows.keys) > 0)


def find_hot_keys(observed: Observations, share: float) -> HotKeys:
    """Find the keys that at least this share of the transactions access, one of which writes.

    A row that is never written does not delay any transaction, however many read it.

    Args:
        observed: the transactions.
        share: 0 to 1.
    """
    rows = observed.rows
    pairs = np.empty(len(rows.keys), [("table", np.int64), ("key", np.uint64)])
    pairs["table"], pairs["key"] = rows.tables, rows.keys
    kinds, of, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    is_written = np.zeros(len(kinds), bool)
    is_written[of[writes_of(observed.signature)[rows.states]]] = True
    hot = np.flatnonzero(is_written & (counts >= max(share * len(observed), 2)))
    hottest = hot[np.argsort(-counts[hot], kind="stable")][:MOST]
    return HotKeys(
        tuple(
            kinds["key"][hottest[kinds["table"][hottest] == table]]
            for table in range(len(table_names(observed.signature)))
        )
    )
