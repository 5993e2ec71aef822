"""Simulated annealing (van Laarhoven, Aarts and Lenstra, Operations Research 40(1), 1992).

The published simulator always takes neighbours of its first state, and accepts a worse one with a
probability above one. Here the state advances, and a makespan longer by d is accepted with
probability exp(-d/T).
"""

from __future__ import annotations

import math

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.moves import exchanged, random_pair
from trainer.schedule.policies.simple import any_order
from trainer.schedule.policies.task import Task

HOTTEST = 0.01
"""The initial temperature, relative to the first makespan."""
COLDEST = 0.1
"""The final temperature, in slots: one slot more is accepted once in 22 000 times."""
ASK_EVERY = 64


def annealing(task: Task) -> Numbers:
    """Exchange two transactions at a time, from a random order, with geometric cooling."""
    state = best = any_order(task)
    now = shortest = task.makespan(state)
    hottest = max(COLDEST, HOTTEST * now)
    for done in range(1, task.evaluations if len(task) > 1 else 1):
        share = done / task.evaluations
        if done % ASK_EVERY == 0 and not task.proceed(share):
            break
        temperature = hottest * (COLDEST / hottest) ** share
        neighbour = exchanged(state, random_pair(len(task), task.random))
        reached = task.makespan(neighbour)
        if accepts(reached - now, temperature, task.random.random()):
            state, now = neighbour, reached
        if now < shortest:
            best, shortest = state, now
    return best


def accepts(worse_by: float, temperature: float, drawn: float) -> bool:
    """Return whether to accept a makespan longer by some slots (Metropolis); `drawn` in [0, 1)."""
    return worse_by <= 0 or drawn < math.exp(-worse_by / temperature)
