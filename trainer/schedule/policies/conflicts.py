"""Conflicts between transactions: both use a key, and at least one writes it."""

from __future__ import annotations

from dataclasses import dataclass

from trainer.schedule.batch import FILLER, WRITE, Batch


@dataclass(frozen=True)
class KeySets:
    """The keys of a transaction.

    Attributes:
        all: the keys it uses.
        written: those of them that it writes.
    """

    all: frozenset[int]
    written: frozenset[int]

    def conflicts(self, other: KeySets) -> bool:
        """Whether the two transactions conflict."""
        return not (self.written.isdisjoint(other.all) and other.written.isdisjoint(self.all))

    def restricted(self, keys: frozenset[int]) -> KeySets:
        """Return the sets restricted to these keys."""
        return KeySets(self.all & keys, self.written & keys)


def key_sets(batch: Batch) -> list[KeySets]:
    """Return the key sets of every transaction."""
    touched: list[set[int]] = [set() for _ in range(len(batch))]
    written: list[set[int]] = [set() for _ in range(len(batch))]
    rows = zip(batch.owners.tolist(), batch.accesses.tolist(), batch.keys.tolist(), strict=True)
    for owner, access, key in rows:
        if access != FILLER:
            touched[owner].add(key)
        if access == WRITE:
            written[owner].add(key)
    return [
        KeySets(frozenset(keys), frozenset(changed))
        for keys, changed in zip(touched, written, strict=True)
    ]
