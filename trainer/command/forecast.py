"""Forecasts of a training's time and memory, for `heddle train` and its `--dry-run`."""

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
from trainer.phases import Cost, Phase
from trainer.progress import Display, make_display
from trainer.scenario import Scenario


def forecast_pacing(
    config: TrainConfig,
    scenarios: Sequence[Scenario],
    backend: Backend,
    display: Display,
    budget: TimeBudget | None,
) -> Pacing:
    """Show the forecast of a training, and return its pacing.

    Raises:
        BudgetError: the budget is too short.
        MeasuringError: Silo can't run.
    """
    if budget is None and not config.forecast:
        return Pacing(config, scenarios)
    cost, found = _measured(config, scenarios, backend, display, budget)
    for line in found.lines():
        display.say(line)
    return Pacing(config, scenarios, cost, budget)


def forecast_run(config: TrainConfig, scenarios: Sequence[Scenario]) -> Forecast:
    """Forecast a training, and write nothing.

    Raises:
        UsageError: the budget is too short.
        MeasuringError: Silo can't run.
    """
    budget = TimeBudget(config.budget) if config.budget is not None else None
    with make_display(make_progress_console()) as display:
        backend = build_backend(
            config.evaluation, *(MachineSpec.of(scenario.config) for scenario in scenarios)
        )
        try:
            _, found = _measured(config, scenarios, backend, display, budget)
        except BudgetError as error:
            raise UsageError(str(error)) from error
        finally:
            backend.close()
    return found


def _measured(
    config: TrainConfig,
    scenarios: Sequence[Scenario],
    backend: Backend,
    display: Display,
    budget: TimeBudget | None,
) -> tuple[Cost, Forecast]:
    display.begin("load the workload", None)
    cost = measure_cost(config, rounds_of(backend, len(scenarios)))
    if budget is not None:
        budget.refuse_too_short(config, scenarios, cost)
        config = budget.planned(config, scenarios, cost, Phase.SWEEP)
    return cost, forecast(config, scenarios, cost, _workers(config))


def _workers(config: TrainConfig) -> int:
    """Return the number of processes that hold databases, counting only this machine."""
    spread = config.evaluation.backend == "ray" and config.machine.kind != THREADS["kind"]
    return len(os.sched_getaffinity(0)) if spread else 1
