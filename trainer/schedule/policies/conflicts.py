"""Which transactions conflict: they touch the same key, and at least one writes it."""

from __future__ import annotations

from dataclasses import dataclass

from trainer.schedule.batch import FILLER, WRITE, Batch


@dataclass(frozen=True)
class KeySets:
    """What a transaction reads and writes.

    Attributes:
        all: keys it touches.
        written: those of them that it writes.
    """

    all: frozenset[int]
    written: frozenset[int]

    def conflicts(self, other: KeySets) -> bool:
        """Whether the two conflict."""
        return not (self.written.isdisjoint(other.all) and other.written.isdisjoint(self.all))

    def restricted(self, keys: frozenset[int]) -> KeySets:
        """As who looks at these keys only sees it."""
        return KeySets(self.all & keys, self.written & keys)


def key_sets(batch: Batch) -> list[KeySets]:
    """Of every transaction."""
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
