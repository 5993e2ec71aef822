"""The registry of scheduling policies. To add one, write a module here and add a line below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.annealing import annealing
from trainer.schedule.policies.composite import composite
from trainer.schedule.policies.genetic import genetic
from trainer.schedule.policies.insertion import full_insertion, neh
from trainer.schedule.policies.ldsf import ldsf
from trainer.schedule.policies.simple import any_order, first_come
from trainer.schedule.policies.smf import smf
from trainer.schedule.policies.tabu import tabu
from trainer.schedule.policies.task import Task
from trainer.schedule.policies.tree_search import tree_search
from trainer.schedule.policies.ts_defer import ts_defer
from trainer.schedule.policies.ts_kd import ts_kd


@dataclass(frozen=True)
class Entry:
    """A scheduling policy.

    Attributes:
        order: returns the index of every transaction once.
        online: whether it never moves placed transactions, so that they may run already.
    """

    order: Callable[[Task], Numbers]
    online: bool


POLICIES: dict[str, Entry] = {
    "fifo": Entry(first_come, online=True),
    "random": Entry(any_order, online=True),
    "smf": Entry(smf(), online=True),
    "smf_hot_keys": Entry(smf(hot_only=True), online=True),
    "smf_no_sampling": Entry(smf(samples=0), online=True),
    "smf_no_sampling_hot_keys": Entry(smf(samples=0, hot_only=True), online=True),
    "composite": Entry(composite(), online=True),
    "ts_defer": Entry(ts_defer, online=True),
    "ldsf": Entry(ldsf, online=True),
    "ts_kd": Entry(ts_kd, online=False),
    "neh": Entry(neh, online=False),
    "full_insertion": Entry(full_insertion, online=False),
    "genetic": Entry(genetic, online=False),
    "annealing": Entry(annealing, online=False),
    "tabu": Entry(tabu, online=False),
    "mcts": Entry(tree_search, online=False),
}
"""The policies by name, in the order of comparison."""
