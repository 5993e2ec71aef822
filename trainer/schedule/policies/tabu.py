"""Tabu search (Glover 1989; Saidi-Mehrabad and Fattahi, IJAMT 32, 2007)."""

from __future__ import annotations

from collections import deque

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.moves import Pair, exchanged, random_pair
from trainer.schedule.policies.simple import any_order
from trainer.schedule.policies.task import Task

NEIGHBOURS = 50
"""Exchanges evaluated per step; 500 transactions have 124 750."""
TENURE = 100
"""Steps for which exchanged transactions may not be exchanged back. For a small batch it is at most
half of the possible exchanges, since with all of them forbidden the search would stop."""


def tabu(task: Task) -> Numbers:
    """Move to the best of some exchanges, even if it is worse, but never straight back.

    A forbidden exchange is allowed if it leads to the best order so far.
    """
    state = best = any_order(task)
    shortest = task.makespan(state)
    if len(task) < 2:
        return best
    exchanges = len(task) * (len(task) - 1) // 2
    forbidden: deque[Pair] = deque(maxlen=min(TENURE, exchanges // 2))
    spent = 1
    while spent < task.evaluations and task.proceed(spent / task.evaluations):
        found: tuple[int, Numbers, Pair] | None = None
        for _ in range(min(NEIGHBOURS, task.evaluations - spent)):
            places = random_pair(len(task), task.random)
            neighbour = exchanged(state, places)
            reached = task.makespan(neighbour)
            spent += 1
            first, second = (int(state[place]) for place in places)
            move = (min(first, second), max(first, second))
            allowed = move not in forbidden or reached < shortest
            if allowed and (found is None or reached < found[0]):
                found = (reached, neighbour, move)
        if found is None:
            continue
        reached, state, move = found
        forbidden.append(move)
        if reached < shortest:
            best, shortest = state, reached
    return best
