"""The rank of a schedule among all serializable ones, from a uniform sample.

Cheng et al., "Towards Optimal Transaction Scheduling" (VLDB 2024), §3.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine import ScheduleWalk, TransactionBatch
from trainer.schedule.batch import Batch
from trainer.schedule.errors import ScheduleError

PART = 256
"""Steps between two checks for an interrupt."""


def samples_needed(share: float, confidence: float) -> int:
    """Return the sample size whose best is within a share of all, with a confidence.

    The nonparametric one-sided tolerance bound (Hahn and Meeker, "Statistical Intervals", 1991):
    all of n schedules are within the worse share p of all with probability p^n.
    """
    return max(1, math.ceil(math.log1p(-confidence) / math.log(share)))


def share_bounded(samples: int, confidence: float) -> float:
    """Return the share of all schedules that a sample's best matches, with a confidence."""
    return math.exp(math.log1p(-confidence) / samples)


@dataclass(frozen=True)
class SamplingPlan:
    """The parameters of a sample.

    Attributes:
        samples: the number of schedules.
        burn_in: steps of the walk before the first one; it converges in n log n (§3.4).
        between: steps between two.
        seed: of the walk.
    """

    samples: int
    burn_in: int
    between: int
    seed: int


def plan_sampling(size: int, samples: int, seed: int) -> SamplingPlan:
    """Return a plan for a batch of `size` transactions."""
    return SamplingPlan(samples, math.ceil(size * math.log(max(2, size))), size, seed)


def sample_makespans(
    batch: Batch, protocol: str, plan: SamplingPlan, tell: Callable[[int], None]
) -> npt.NDArray[np.int64]:
    """Return the makespans of schedules drawn uniformly from the serializable ones.

    Args:
        batch: the transactions.
        protocol: the protocol whose rules apply.
        plan: the parameters.
        tell: called with the number drawn.

    Raises:
        ScheduleError: there are too many conflicts for the walk.
    """
    problem = batch.problem(protocol)
    try:
        walk = ScheduleWalk(TransactionBatch(batch.lengths, batch.accesses, batch.keys), plan.seed)
    except ValueError as error:
        raise ScheduleError(f"the workload can't be sampled: {error}") from None
    # In parts, because signals are only handled between two of them.
    for begin in range(0, plan.burn_in, PART):
        walk.step(min(PART, plan.burn_in - begin))
        tell(0)
    found = np.empty(plan.samples, np.int64)
    for index in range(plan.samples):
        for begin in range(0, plan.between, PART):
            walk.step(min(PART, plan.between - begin))
        found[index] = problem.makespan(walk.order)
        tell(index + 1)
    return found
