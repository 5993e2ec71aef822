"""Metadata vectors: a transaction's parameters as numbers (engine/schedule/classifier/)."""

from __future__ import annotations

import numpy as np

from trainer.classifier.hot_keys import HotKeys
from trainer.classifier.observations import Observations, table_names

LONGEST = 16
"""Maximum length of a vector: the longer the vectors, the fewer rows fit."""


def vectors_of(observed: Observations, hot_keys: HotKeys, kind: int) -> np.ndarray:
    """Return the vectors of one type's transactions, one row each.

    Args:
        observed: the transactions.
        hot_keys: ranks the keys.
        kind: the type, by its index in the signature.
    """
    signature = observed.signature
    of_kind = np.flatnonzero(observed.types == kind)
    row_of = np.full(len(observed), -1)
    row_of[of_kind] = np.arange(len(of_kind))
    rows = row_of[observed.hint_transactions]
    ours = rows >= 0
    rows, states, keys = rows[ours], observed.hints.states[ours], observed.hints.keys[ours]
    names = table_names(signature)
    tables = np.array([names.index(access.table) for access in signature.accesses])[states]
    heats = hot_keys.heats(tables, keys)
    in_loop = np.array([access.loop for access in signature.accesses])[states]
    kept = ~in_loop | (heats > 0)
    rows, heats, in_loop = rows[kept], heats[kept], in_loop[kept]
    # In the order of the hints; those of loops come last, the hottest first.
    order = np.lexsort((np.where(in_loop, -heats, np.arange(len(rows))), in_loop, rows))
    rows, heats = rows[order], heats[order]
    counts = np.bincount(rows, minlength=len(of_kind))
    column = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    length = min(int(counts.max(initial=0)), LONGEST)
    vectors = np.zeros((len(of_kind), length), np.int64)
    fits = column < length
    vectors[rows[fits], column[fits]] = heats[fits]
    return vectors
