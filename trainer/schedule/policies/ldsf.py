"""Largest-Dependency-Set-First (Tian et al., VLDB 2018, §4), for the order of a batch.

In the paper it grants a released lock to the transaction for which most others wait. Here, as in
Cheng et al. (VLDB 2024, §5.4.2), the result is the order in which transactions run. A transaction
takes its locks at its start and holds them for its length, so there are no deadlocks.
"""

from __future__ import annotations

import heapq
from collections import deque

import numpy as np

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.conflicts import KeySets, key_sets
from trainer.schedule.policies.task import Task

ACTIVE = 64
"""Running or waiting transactions at a time: one per worker."""


def ldsf(task: Task) -> Numbers:
    """Start the transaction with the largest dependency set that no running one blocks."""
    sets, lengths = key_sets(task.batch), task.batch.lengths.tolist()
    arriving = deque(range(len(task)))
    waiting: list[int] = []
    running: list[tuple[int, int]] = []  # end and index, a heap
    order: list[int] = []
    now = 0
    while arriving or waiting:
        while arriving and len(waiting) + len(running) < ACTIVE:
            waiting.append(arriving.popleft())
        free = [
            index
            for index in waiting
            if not any(sets[index].conflicts(sets[other]) for _, other in running)
        ]
        if free:
            chosen = max(free, key=lambda index: _dependents(index, waiting, sets))
            waiting.remove(chosen)
            order.append(chosen)
            heapq.heappush(running, (now + lengths[chosen], chosen))
            if not task.proceed_counting(len(order)):
                return np.array([*order, *waiting, *arriving], np.uint32)
        else:
            now, _ = heapq.heappop(running)
    return np.array(order, np.uint32)


def _dependents(index: int, waiting: list[int], sets: list[KeySets]) -> int:
    """Return how many transactions would wait for it, directly or through another one."""
    reached, frontier, rest = 0, [index], [other for other in waiting if other != index]
    while frontier:
        blocker = frontier.pop()
        behind = [
            other for other in rest if other > blocker and sets[blocker].conflicts(sets[other])
        ]
        reached += len(behind)
        frontier += behind
        rest = [other for other in rest if other not in behind]
    return reached
