"""The orders that need no thought: as transactions come, and any."""

from __future__ import annotations

import numpy as np

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.task import Task


def first_come(task: Task) -> Numbers:
    """First in, first out."""
    return np.arange(len(task), dtype=np.uint32)


def any_order(task: Task) -> Numbers:
    """One order, drawn uniformly."""
    return task.random.permutation(len(task)).astype(np.uint32)
