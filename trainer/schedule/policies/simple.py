"""The trivial orders: as transactions arrive, and random."""

from __future__ import annotations

import numpy as np

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.task import Task


def first_come(task: Task) -> Numbers:
    """Return the order of arrival: first in, first out."""
    return np.arange(len(task), dtype=np.uint32)


def any_order(task: Task) -> Numbers:
    """Return an order drawn uniformly."""
    return task.random.permutation(len(task)).astype(np.uint32)
