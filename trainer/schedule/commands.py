"""The commands below `heddle schedule`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from trainer.command.errors import one_message
from trainer.schedule.batch import PROTOCOLS
from trainer.schedule.files import read_batch, read_order

Command = TypeVar("Command", bound=Callable[..., Any])

MAKESPAN_EXAMPLES = """
\b
Examples:
  heddle schedule makespan --input workload.json
  heddle schedule makespan --input workload.json --order order.json --protocol lock
"""


def _of_a_workload(command: Command) -> Command:
    """The options of every command that reads a workload."""
    for option in reversed(
        (
            click.option(
                "--input",
                "workload",
                type=click.Path(path_type=Path),
                required=True,
                metavar="FILE",
                help="The workload, JSON.",
            ),
            click.option(
                "--protocol",
                type=click.Choice(PROTOCOLS),
                default=PROTOCOLS[0],
                show_default=True,
                help="Whose rules say when an operation may run.",
            ),
        )
    ):
        command = option(command)
    return command


@click.command(epilog=MAKESPAN_EXAMPLES)
@_of_a_workload
@click.option(
    "--order",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Indexes of the transactions, from 0, JSON.  [default: as the workload has them]",
)
@one_message
def makespan(workload: Path, order: Path | None, protocol: str) -> None:
    """Print how many time units a schedule takes."""
    batch = read_batch(workload)
    placed = np.arange(len(batch)) if order is None else read_order(order, len(batch))
    click.echo(batch.problem(protocol).makespan(placed))
