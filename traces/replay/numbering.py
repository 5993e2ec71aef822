"""Assigns dense numbers to rows and sessions, batch by batch."""

from __future__ import annotations

import numpy as np


class Rows:
    """The rows of a table, numbered in the order of their keys, and whether each is born.

    A row is born if its first access inserts it, or if it occurs only as the start of a scan. Any
    other row existed before.
    """

    def __init__(self) -> None:
        self._keys = np.empty(0, np.int64)
        self._born = np.empty(0, bool)
        self._settled = np.empty(0, bool)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def born(self) -> np.ndarray:
        """uint8 for each row, 0 or 1."""
        return self._born.astype(np.uint8)

    def add(self, keys: np.ndarray, inserts: np.ndarray, scans: np.ndarray) -> None:
        """Add accesses, in their order.

        Args:
            keys: int64 for each access.
            inserts: bool for each access: it is an insertion.
            scans: bool for each access: it is a scan.
        """
        self._grow(np.unique(keys))
        made, first = np.unique(keys[~scans], return_index=True)
        at = self.numbers(made)
        fresh = ~self._settled[at]
        self._born[at[fresh]] = inserts[~scans][first[fresh]]
        self._settled[at] = True

    def numbers(self, keys: np.ndarray) -> np.ndarray:
        """Return int64: the number of each key, all of which were added."""
        return np.searchsorted(self._keys, keys)

    def _grow(self, keys: np.ndarray) -> None:
        at, fresh = _places(self._keys, keys)
        if not fresh.any():
            return
        self._keys = np.insert(self._keys, at[fresh], keys[fresh])
        self._born = np.insert(self._born, at[fresh], True)
        self._settled = np.insert(self._settled, at[fresh], False)


class Sessions:
    """Sessions, numbered in the order of their first transaction."""

    def __init__(self) -> None:
        self._ids = np.empty(0, np.int64)
        self._numbers = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, ids: np.ndarray) -> None:
        """Add the sessions of transactions, in their order."""
        found, first = np.unique(ids, return_index=True)
        at, fresh = _places(self._ids, found)
        found, first = found[fresh], first[fresh]
        numbers = np.empty(len(found), np.int64)
        numbers[np.argsort(first)] = len(self._ids) + np.arange(len(found))
        self._ids = np.insert(self._ids, at[fresh], found)
        self._numbers = np.insert(self._numbers, at[fresh], numbers)

    def numbers(self, ids: np.ndarray) -> np.ndarray:
        """Return int64: the number of each session, all of which were added."""
        return self._numbers[np.searchsorted(self._ids, ids)]


def _places(known: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of sorted values among sorted ones, and which of them are missing."""
    at = np.searchsorted(known, values)
    fresh = np.ones(len(values), bool)
    inside = at < len(known)
    fresh[inside] = known[at[inside]] != values[inside]
    return at, fresh
