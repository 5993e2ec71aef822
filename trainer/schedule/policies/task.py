"""The input of a scheduling policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine import SchedulingProblem
from trainer.schedule.batch import Batch, Numbers

HOT_SHARE = 0.01
"""A key is hot if at least this share of the transactions uses it."""


def always_proceed(done: float) -> bool:
    """Return True, for a policy without a time limit."""
    return True


@dataclass(frozen=True, eq=False)
class Task:
    """A batch to order.

    Attributes:
        batch: the transactions, in the order of their arrival.
        protocol: the protocol whose rules apply.
        seed: of the policy's random numbers.
        evaluations: schedules that a search policy may evaluate; at least 1.
        proceed: called now and then with the share of the work that is done; if it returns False,
            the policy returns its best order so far.
    """

    batch: Batch
    protocol: str = "mvtso"
    seed: int = 1
    evaluations: int = 5000
    proceed: Callable[[float], bool] = field(default=always_proceed)

    def __len__(self) -> int:
        return len(self.batch)

    @cached_property
    def problem(self) -> SchedulingProblem:
        """The scheduling problem with all keys known."""
        return self.batch.problem(self.protocol)

    @cached_property
    def hot_problem(self) -> SchedulingProblem:
        """The scheduling problem with only the hot keys known (SMF paper, §3.2, §4.1)."""
        hot = self.batch.users >= max(2, HOT_SHARE * len(self))
        return self.batch.only_keys(hot).problem(self.protocol)

    @cached_property
    def random(self) -> np.random.Generator:
        """The policy's own random numbers."""
        return np.random.default_rng(self.seed)

    def makespan(self, order: Numbers) -> int:
        """Return the makespan of an order."""
        return self.problem.makespan(order)

    def proceed_counting(self, done: int) -> bool:
        """Call `proceed` with a number of transactions instead of a share."""
        return self.proceed(done / len(self))
