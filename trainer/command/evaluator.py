"""Opens the evaluator that a command's settings describe."""

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
    takes_turns: bool = True,
) -> Evaluator:
    """Open an evaluator for a workload on a machine.

    Args:
        workload: the settings of the workload.
        machine: the settings of the machine.
        seed: of the population.
        grown_bytes_max: growth, in bytes, after which the database is reloaded.
        takes_turns: whether workers beyond the number of cores take turns.

    Raises:
        UsageError: there is no such workload or machine, or it has no such options.
    """
    warn_about_machine(machine.kind, machine.cores, takes_turns)
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
