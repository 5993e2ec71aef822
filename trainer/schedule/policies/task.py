"""What a scheduling policy is given."""

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
    """Never stop."""
    return True


@dataclass(frozen=True, eq=False)
class Task:
    """A batch to be ordered.

    Attributes:
        batch: the transactions, in the order of their arrival.
        protocol: whose rules they run under.
        seed: of whatever the policy draws.
        evaluations: how many schedules a policy that searches may evaluate; at least 1.
        proceed: asked now and then with the share that is done, whether to continue; if not, the
            policy answers with what it has.
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
        """With all keys known."""
        return self.batch.problem(self.protocol)

    @cached_property
    def hot_problem(self) -> SchedulingProblem:
        """With the hot keys known only (SMF paper, §3.2, §4.1)."""
        hot = self.batch.users >= max(2, HOT_SHARE * len(self))
        return self.batch.only_keys(hot).problem(self.protocol)

    @cached_property
    def random(self) -> np.random.Generator:
        """The policy's own random numbers."""
        return np.random.default_rng(self.seed)

    def makespan(self, order: Numbers) -> int:
        """How long an order takes."""
        return self.problem.makespan(order)

    def proceed_counting(self, done: int) -> bool:
        """`proceed`, for who counts transactions."""
        return self.proceed(done / len(self))
