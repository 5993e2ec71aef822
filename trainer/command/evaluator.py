"""The evaluator that a command's settings ask for."""

from __future__ import annotations

from typing import Any

from envs import Evaluator
from trainer.command.errors import UsageError
from trainer.config import MachineConfig, workload_options


def open_evaluator(workload: dict[str, Any], machine: MachineConfig, seed: int) -> Evaluator:
    """An evaluator for a workload on a machine.

    Raises:
        UsageError: there is no such workload or machine, or not with such options.
    """
    try:
        return Evaluator(
            workload_options(workload), machine.cores, machine=machine.options(), seed=seed
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
