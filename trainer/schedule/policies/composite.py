"""Our own policy that never moves what it has placed: see `engine/schedule/composite.h`."""

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
    """Composite dispatching: the start, whom it holds up, how much work queues, and how long.

    Args:
        samples: transactions drawn for each place.
        delay: weight of the mean delay that a choice imposes on those that wait.
        work: weight of the work that still queues for the keys it touches.
        length: weight of the transaction's own length.
        bound: weight of what its writes add to the least makespan that the keys' queues allow.

    Raises:
        ValueError: (by what is returned) a weight is negative, or no number.
    """

    def order(task: Task) -> Numbers:
        return task.problem.composite_dispatching(
            samples, delay, work, length, bound, task.seed, task.proceed_counting
        )

    return order
