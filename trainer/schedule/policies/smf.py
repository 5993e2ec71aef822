"""Shortest Makespan First and its variants (Cheng et al., VLDB 2024, §3.1, §5.4.3)."""

from __future__ import annotations

from collections.abc import Callable

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.task import Task

SAMPLES = 5
"""The paper's k."""


def smf(*, samples: int = SAMPLES, hot_only: bool = False) -> Callable[[Task], Numbers]:
    """Return a variant of SMF.

    Args:
        samples: transactions drawn for each place; 0 for all that are left ("no sampling").
        hot_only: whether the policy knows only hot keys, as the paper's default does.
    """

    def order(task: Task) -> Numbers:
        problem = task.hot_problem if hot_only else task.problem
        return problem.shortest_makespan_first(samples, task.seed, task.proceed_counting)

    return order
