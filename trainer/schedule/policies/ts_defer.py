"""TsDEFER (Cao et al., SIGMOD 2023), as Cheng et al. describe it (VLDB 2024, §5.1)."""

from __future__ import annotations

from collections import deque

import numpy as np

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.conflicts import KeySets, key_sets
from trainer.schedule.policies.task import Task

LOOKUPS = 2
"""The number of keys of a transaction to look up."""
PROBABILITY = 0.6
"""The probability of deferring a transaction with a key in use."""
IN_FLIGHT = 16
"""The number of running transactions: those placed last."""


def ts_defer(task: Task) -> Numbers:
    """Keep the order of arrival, but defer transactions with a conflict among their two keys."""
    sets = key_sets(task.batch)
    waiting = deque(range(len(task)))
    running: deque[KeySets] = deque(maxlen=IN_FLIGHT)
    order: list[int] = []
    while waiting:
        index = waiting.popleft()
        looked_up = _look_up(sets[index], task.random)
        meets = any(looked_up.conflicts(other) for other in running)
        if waiting and meets and task.random.random() < PROBABILITY:
            waiting.append(index)
            continue
        running.append(sets[index])
        order.append(index)
        if not task.proceed_counting(len(order)):
            break
    return np.array([*order, *waiting], np.uint32)


def _look_up(sets: KeySets, random: np.random.Generator) -> KeySets:
    keys = sorted(sets.all)
    places = random.permutation(len(keys))[:LOOKUPS]
    return sets.restricted(frozenset(keys[at] for at in places))
