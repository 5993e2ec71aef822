"""Heddle's own online policy, composite dispatching: see `engine/schedule/composite.h`."""

from __future__ import annotations

from collections.abc import Callable

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.task import Task

SAMPLES = 48
DELAY = 1.0
WORK = 8.0
LENGTH = 0.1
BOUND = 0.5


def composite(
    *,
    samples: int = SAMPLES,
    delay: float = DELAY,
    work: float = WORK,
    length: float = LENGTH,
    bound: float = BOUND,
) -> Callable[[Task], Numbers]:
    """Return a policy that weighs start time, imposed delay, queued work, and length.

    Args:
        samples: transactions drawn for each place.
        delay: weight of the mean delay that a choice imposes on the waiting transactions.
        work: weight of the work that is queued for the keys it uses.
        length: weight of the transaction's own length.
        bound: weight of the increase of the keys' queues' lower bound of the makespan by its
            writes.

    Raises:
        ValueError: (by the policy) a weight is negative, or not a number.
    """

    def order(task: Task) -> Numbers:
        return task.problem.composite_dispatching(
            samples, delay, work, length, bound, task.seed, task.proceed_counting
        )

    return order
