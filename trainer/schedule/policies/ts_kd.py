"""TSkd (Cao et al., SIGMOD 2023), as Cheng et al. describe it (VLDB 2024, §5.4.2).

Partitions that share no conflict run side by side; what fits into none runs after all of them.
"""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.conflicts import KeySets, key_sets
from trainer.schedule.policies.task import Task

PARTITIONS = 16
"""Side by side: a worker each."""


class Partition:
    """Transactions that run one after the other, and the keys that are theirs."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self.work = 0
        self.touched: set[int] = set()
        self.written: set[int] = set()

    def meets(self, sets: KeySets) -> bool:
        """Whether one conflicts with a member."""
        return not (self.written.isdisjoint(sets.all) and self.touched.isdisjoint(sets.written))

    def add(self, index: int, sets: KeySets, length: int) -> None:
        """Take one in."""
        self.members.append(index)
        self.work += length
        self.touched |= sets.all
        self.written |= sets.written


def ts_kd(task: Task) -> Numbers:
    """The partitions in turns, and then what is left over."""
    sets, lengths = key_sets(task.batch), task.batch.lengths.tolist()
    partitions = [Partition() for _ in range(PARTITIONS)]
    left_over: list[int] = []
    for index in range(len(task)):
        if not task.proceed_counting(index):
            left_over += range(index, len(task))
            break
        met = [one for one in partitions if one.meets(sets[index])]
        if len(met) > 1:
            left_over.append(index)
            continue
        target = met[0] if met else min(partitions, key=lambda one: one.work)
        target.add(index, sets[index], lengths[index])
    turns = zip_longest(*(one.members for one in partitions))
    order = [index for turn in turns for index in turn if index is not None]
    return np.array([*order, *left_over], np.uint32)
