"""Insertion into every place of the schedule (NEH; Cheng et al., VLDB 2024, §5.4.1)."""

from __future__ import annotations

import numpy as np

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.task import Task


def full_insertion(task: Task) -> Numbers:
    """Insert each transaction, in random order, where the makespan is shortest."""
    sequence = task.random.permutation(len(task))
    return task.problem.insert_each(sequence, task.proceed_counting)


def neh(task: Task) -> Numbers:
    """Insert the longest transactions first (Nawaz, Enscore and Ham, Omega 11(1), 1983)."""
    sequence = np.argsort(-task.batch.lengths.astype(np.int64), kind="stable")
    return task.problem.insert_each(sequence, task.proceed_counting)
