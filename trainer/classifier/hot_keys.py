"""Which keys are hot: many transactions touch them, and some of those write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policies import Signature
from trainer.classifier.observations import Observations, Rows, table_names, writes_of

MOST = 2048
"""Hot keys that the engine tells apart (engine/schedule/admission/operation.h)."""


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
        """By the table's name; those without any are left out."""
        names = table_names(signature)
        return {
            names[table]: [int(key) for key in keys]
            for table, keys in enumerate(self.by_table)
            if len(keys)
        }

    def heats(self, tables: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """How hot keys are: the hottest of a table as many as it has, the least hot 1, others 0."""
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
        """The rows that are hot."""
        return rows.filtered(self.heats(rows.tables, rows.keys) > 0)


def find_hot_keys(observed: Observations, share: float) -> HotKeys:
    """The keys that at least this share of the transactions touch, one of which writes.

    A row that is never written is in nobody's way, however many read it.

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
