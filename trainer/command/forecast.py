"""What a training will take, before it begins: in `heddle train`, and with `--dry-run` alone."""

from __future__ import annotations

import os
from collections.abc import Sequence

from envs import THREADS
from trainer.budget import BudgetError, Pacing, TimeBudget
from trainer.command.errors import UsageError
from trainer.command.output import make_progress_console
from trainer.config import TrainConfig
from trainer.evaluation import Backend, MachineSpec, build_backend
from trainer.evaluation.backend import rounds_of
from trainer.forecast import Forecast, forecast, measure_cost
from trainer.member import Member
from trainer.phases import Cost, Phase
from trainer.progress import Display, make_display


def foreseen(
    config: TrainConfig,
    members: Sequence[Member],
    backend: Backend,
    display: Display,
    budget: TimeBudget | None,
) -> Pacing:
    """Show what a training will take, and pace it.

    Raises:
        BudgetError: the budget is too short.
        MeasuringError: Silo can't run.
    """
    if budget is None and not config.forecast:
        return Pacing(config, members)
    cost, found = _measured(config, members, backend, display, budget)
    for line in found.lines():
        display.say(line)
    return Pacing(config, members, cost, budget)


def forecast_run(config: TrainConfig, members: Sequence[Member]) -> Forecast:
    """Measure what a training would take, and write nothing.

    Raises:
        UsageError: its budget is too short.
        MeasuringError: Silo can't run.
    """
    budget = TimeBudget(config.budget) if config.budget is not None else None
    with make_display(make_progress_console()) as display:
        backend = build_backend(
            config.evaluation, *(MachineSpec.of(member.config) for member in members)
        )
        try:
            _, found = _measured(config, members, backend, display, budget)
        except BudgetError as error:
            raise UsageError(str(error)) from error
        finally:
            backend.close()
    return found


def _measured(
    config: TrainConfig,
    members: Sequence[Member],
    backend: Backend,
    display: Display,
    budget: TimeBudget | None,
) -> tuple[Cost, Forecast]:
    display.begin("load the workload", None)
    cost = measure_cost(config, rounds_of(backend, len(members)))
    if budget is not None:
        budget.refuse_too_short(config, members, cost)
        config = budget.planned(config, members, cost, Phase.SWEEP)
    return cost, forecast(config, members, cost, _workers(config))


def _workers(config: TrainConfig) -> int:
    """Processes that keep databases: on this machine, if there are others."""
    spread = config.evaluation.backend == "ray" and config.machine.kind != THREADS["kind"]
    return len(os.sched_getaffinity(0)) if spread else 1
