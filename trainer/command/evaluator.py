"""The evaluator that a command's settings ask for."""

from __future__ import annotations

from typing import Any

from envs import Evaluator
from envs.evaluator import GROWN_BYTES_MAX
from trainer.command.errors import UsageError
from trainer.command.machine_warnings import warn_about_machine
from trainer.config import MachineConfig, workload_options


def open_evaluator(
    workload: dict[str, Any],
    machine: MachineConfig,
    seed: int,
    grown_bytes_max: int = GROWN_BYTES_MAX,
) -> Evaluator:
    """An evaluator for a workload on a machine.

    Args:
        workload: its settings.
        machine: where.
        seed: of the population.
        grown_bytes_max: growth, in bytes, after which the database is loaded anew.

    Raises:
        UsageError: there is no such workload or machine, or not with such options.
    """
    warn_about_machine(machine.kind, machine.cores)
    try:
        return Evaluator(
            workload_options(workload),
            machine.cores,
            machine=machine.options(),
            seed=seed,
            grown_bytes_max=grown_bytes_max,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
