"""Policies side by side: what each reaches on one batch, and how long it takes."""

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
    """What a policy made of the batch.

    Attributes:
        policy: its name.
        online: whether it never moves what it has placed.
        makespan: of its order, in time units.
        seconds: that it took to order the whole batch, which it has in memory.
        finished: False if it was stopped when its time was up.
    """

    policy: str
    online: bool
    makespan: int
    seconds: float
    finished: bool


@dataclass(frozen=True)
class Plan:
    """How policies are compared.

    Attributes:
        protocol: whose rules the transactions run under.
        seed: of what the policies draw.
        evaluations: schedules that a policy that searches may evaluate.
        seconds: after which a policy is stopped.
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
        batch: what they order.
        plan: which, and how.
        tell: told the policy at work and the share of its work that is done.
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
        # Made before the clock starts: a system has them from the transactions' arrival on.
        _ = task.problem, task.hot_problem, task.random
        began = time.perf_counter()
        order = POLICIES[name].order(task)
        seconds = time.perf_counter() - began
        online = POLICIES[name].online
        yield Reached(name, online, problem.makespan(order), seconds, not stopped)


def comparison_table(batch: Batch, plan: Plan, reached: Sequence[Reached]) -> Table:
    """A row a policy; relative to the first one."""
    title = f"{len(batch)} transactions under {plan.protocol}, seed {plan.seed}"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("policy")
    table.add_column("online")
    for column in ("makespan", f"× {reached[0].policy}", "seconds", "µs a transaction"):
        table.add_column(column, justify="right")
    for one in reached:
        table.add_row(
            one.policy if one.finished else f"{one.policy} (stopped)",
            "yes" if one.online else "no",
            f"{one.makespan:,}",
            f"{one.makespan / reached[0].makespan:.2f}",
            f"{one.seconds:.4f}",
            f"{one.seconds * US / len(batch):.2f}",
        )
    return table


def comparison_document(
    source: str, batch: Batch, plan: Plan, reached: Sequence[Reached]
) -> dict[str, Any]:
    """The comparison as a JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "schedule comparison",
        "workload": source,
        "transactions": len(batch),
        "protocol": plan.protocol,
        "seed": plan.seed,
        "evaluations": plan.evaluations,
        "policies": [asdict(one) for one in reached],
    }
