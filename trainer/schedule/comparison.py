"""Comparing scheduling policies on one batch: makespan and duration."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from trainer.schedule.batch import Batch
from trainer.schedule.policies import POLICIES, Task

SCHEMA_VERSION = 1
US = 1e6


@dataclass(frozen=True)
class Reached:
    """The result of a policy on the batch.

    Attributes:
        policy: its name.
        online: whether it never moves placed transactions.
        makespan: of its order, in time units.
        seconds: to order the whole batch, which is in memory.
        finished: False if it was stopped at the time limit.
    """

    policy: str
    online: bool
    makespan: int
    seconds: float
    finished: bool


@dataclass(frozen=True)
class Plan:
    """The parameters of a comparison.

    Attributes:
        protocol: the protocol whose rules apply.
        seed: of the policies' random numbers.
        evaluations: schedules that a search policy may evaluate.
        seconds: time limit of a policy.
        policies: their names.
    """

    protocol: str
    seed: int
    evaluations: int
    seconds: float
    policies: Sequence[str]


def compare(batch: Batch, plan: Plan, tell: Callable[[str, float], None]) -> Iterator[Reached]:
    """Run policies, one after the other.

    Args:
        batch: the transactions.
        plan: the parameters.
        tell: called with the current policy and the share of its work that is done.
    """
    problem = batch.problem(plan.protocol)
    for name in plan.policies:
        deadline = time.monotonic() + plan.seconds
        stopped = False

        def proceed(done: float, name: str = name, deadline: float = deadline) -> bool:
            nonlocal stopped
            tell(name, done)
            stopped = stopped or time.monotonic() > deadline
            return not stopped

        task = Task(batch, plan.protocol, plan.seed, plan.evaluations, proceed)
        # Created before the clock starts: a real system has them on arrival of the transactions.
        _ = task.problem, task.hot_problem, task.random
        began = time.perf_counter()
        order = POLICIES[name].order(task)
        seconds = time.perf_counter() - began
        online = POLICIES[name].online
        yield Reached(name, online, problem.makespan(order), seconds, not stopped)


def comparison_table(batch: Batch, plan: Plan, reached: Sequence[Reached]) -> Table:
    """Return a table with a row per policy; makespans relative to the first one."""
    title = f"{len(batch)} transactions under {plan.protocol}, seed {plan.seed}"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("policy")
    table.add_column("online")
    for column in ("makespan", f"× {reached[0].policy}", "seconds", "µs per transaction"):
        table.add_column(column, justify="right")
    for result in reached:
        table.add_row(
            result.policy if result.finished else f"{result.policy} (stopped)",
            "yes" if result.online else "no",
            f"{result.makespan:,}",
            f"{result.makespan / reached[0].makespan:.2f}",
            f"{result.seconds:.4f}",
            f"{result.seconds * US / len(batch):.2f}",
        )
    return table


def comparison_document(
    source: str, batch: Batch, plan: Plan, reached: Sequence[Reached]
) -> dict[str, Any]:
    """Return the comparison as a JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "schedule comparison",
        "workload": source,
        "transactions": len(batch),
        "protocol": plan.protocol,
        "seed": plan.seed,
        "evaluations": plan.evaluations,
        "policies": [asdict(result) for result in reached],
    }
