"""A batch of transactions, the input of every scheduling policy."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engine import SchedulingProblem, TransactionBatch

Numbers = npt.NDArray[np.uint32]
"""Lengths, keys, or indexes of transactions."""

FILLER, READ, WRITE = range(3)
CODES = {"*": FILLER, "r": READ, "w": WRITE}
"""The codes of operations in files."""
PROTOCOLS = ("mvtso", "lock", "occ")

Operation = tuple[str, Hashable]
"""`r`, `w` or `*`, and the key."""


@dataclass(frozen=True, eq=False)
class Batch:
    """A sequence of transactions.

    Attributes:
        lengths: slots of each transaction.
        accesses: of every slot: `FILLER`, `READ` or `WRITE`.
        keys: of every slot, numbered from 0; of a filler: 0.
    """

    lengths: Numbers
    accesses: npt.NDArray[np.uint8]
    keys: Numbers

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def owners(self) -> Numbers:
        """For every slot the index of its transaction."""
        return np.repeat(np.arange(len(self), dtype=np.uint32), self.lengths)

    @cached_property
    def users(self) -> npt.NDArray[np.int64]:
        """For every key the number of transactions that use it."""
        used = self.accesses != FILLER
        pairs = np.unique(np.stack([self.keys[used], self.owners[used]]), axis=1)
        return np.bincount(pairs[0])

    def problem(self, protocol: str) -> SchedulingProblem:
        """Return the scheduling problem of the batch under the rules of a protocol."""
        return SchedulingProblem(TransactionBatch(self.lengths, self.accesses, self.keys), protocol)

    def only_keys(self, wanted: npt.NDArray[np.bool_]) -> Batch:
        """Return the same transactions with all other keys replaced by fillers.

        Args:
            wanted: by key.
        """
        kept = (self.accesses != FILLER) & wanted[self.keys] if wanted.size else self.accesses < 0
        return Batch(
            self.lengths,
            np.where(kept, self.accesses, FILLER).astype(np.uint8),
            np.where(kept, self.keys, 0).astype(np.uint32),
        )


def make_batch(transactions: Iterable[Sequence[Operation]]) -> Batch:
    """Create a batch from operations as in files; keys may be any hashable values."""
    numbers: dict[Hashable, int] = {}
    lengths, accesses, keys = [], [], []
    for transaction in transactions:
        lengths.append(len(transaction))
        for name, key in transaction:
            code = CODES[name]
            accesses.append(code)
            keys.append(0 if code == FILLER else numbers.setdefault(key, len(numbers)))
    return Batch(
        np.array(lengths, np.uint32), np.array(accesses, np.uint8), np.array(keys, np.uint32)
    )
