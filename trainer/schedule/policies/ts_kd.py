"""TSkd (Cao et al., SIGMOD 2023), as Cheng et al. describe it (VLDB 2024, §5.4.2).

Partitions without mutual conflicts run in parallel; transactions that fit into none run after them.
"""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.conflicts import KeySets, key_sets
from trainer.schedule.policies.task import Task

PARTITIONS = 16
"""Partitions in parallel: one per worker."""


class Partition:
    """Transactions that run one after the other, and the keys of the partition."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self.work = 0
        self.touched: set[int] = set()
        self.written: set[int] = set()

    def meets(self, sets: KeySets) -> bool:
        """Whether a transaction conflicts with one of the partition."""
        return not (self.written.isdisjoint(sets.all) and self.touched.isdisjoint(sets.written))

    def add(self, index: int, sets: KeySets, length: int) -> None:
        """Add a transaction."""
        self.members.append(index)
        self.work += length
        self.touched |= sets.all
        self.written |= sets.written


def ts_kd(task: Task) -> Numbers:
    """Interleave the partitions, and append the remaining transactions."""
    sets, lengths = key_sets(task.batch), task.batch.lengths.tolist()
    partitions = [Partition() for _ in range(PARTITIONS)]
    left_over: list[int] = []
    for index in range(len(task)):
        if not task.proceed_counting(index):
            left_over += range(index, len(task))
            break
        met = [partition for partition in partitions if partition.meets(sets[index])]
        if len(met) > 1:
            left_over.append(index)
            continue
        target = met[0] if met else min(partitions, key=lambda partition: partition.work)
        target.add(index, sets[index], lengths[index])
    turns = zip_longest(*(partition.members for partition in partitions))
    order = [index for turn in turns for index in turn if index is not None]
    return np.array([*order, *left_over], np.uint32)
