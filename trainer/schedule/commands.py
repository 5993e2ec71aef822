"""The commands of `heddle lab` that schedule transactions."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np

from traces.output import bar
from trainer.checkpoint import write_atomically
from trainer.command.errors import one_message
from trainer.command.output import print_table
from trainer.schedule.batch import Batch
from trainer.schedule.comparison import (
    Plan,
    Reached,
    compare,
    comparison_document,
    comparison_table,
)
from trainer.schedule.errors import ScheduleError
from trainer.schedule.files import read_batch, read_order
from trainer.schedule.options import (
    NumberRange,
    output_file,
    with_input,
    with_output,
    with_protocol,
    with_seed,
)
from trainer.schedule.policies import POLICIES

MAKESPAN_EXAMPLES = """
\b
Examples:
  heddle lab makespan --input workload.json
  heddle lab makespan --input workload.json --order order.json --protocol lock
"""

COMPARE_EXAMPLES = """
\b
Examples:
  heddle lab schedules --input workload.json
  heddle lab schedules --input workload.json --policies fifo,smf,composite output=found.json
  heddle lab schedules --input workload.json --protocol occ --evaluations 50000
"""


@click.command(epilog=MAKESPAN_EXAMPLES)
@with_input
@click.option(
    "--order",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Transaction indexes from 0, JSON.  [default: order of the workload]",
)
@with_protocol
@one_message
def makespan(workload: Path, order: Path | None, protocol: str) -> None:
    """Print the makespan of a schedule in time units."""
    batch = read_batch(workload)
    placed = np.arange(len(batch)) if order is None else read_order(order, len(batch))
    click.echo(batch.problem(protocol).makespan(placed))


@click.command("schedules", epilog=COMPARE_EXAMPLES)
@with_output("the comparison, JSON,")
@with_input
@with_protocol
@with_seed
@click.option(
    "--policies",
    default=",".join(POLICIES),
    metavar="NAME,NAME",
    help=f"Policies to compare, of {', '.join(POLICIES)}.  [default: all]",
)
@click.option(
    "--evaluations",
    type=click.IntRange(1, 100_000_000),
    default=5000,
    show_default=True,
    help="Schedules that a search policy may evaluate.",
)
@click.option(
    "--seconds",
    type=NumberRange(0, 1_000_000, min_open=True),
    default=60.0,
    show_default=True,
    help="Time limit of a policy; the table marks stopped ones.",
)
@one_message
def schedules(
    words: tuple[str, ...],
    output: Path | None,
    workload: Path,
    protocol: str,
    seed: int,
    policies: str,
    evaluations: int,
    seconds: float,
) -> None:
    """Order a workload by every policy; print the makespans and durations.

    An online policy never moves placed transactions. After Ctrl-C, the results so far are printed.
    """
    output = output_file(words, output, workload)
    plan = Plan(protocol, seed, evaluations, seconds, _names(policies))
    batch = read_batch(workload)
    reached: list[Reached] = []
    try:
        _compare(batch, plan, reached)
    finally:
        if reached:
            print_table(comparison_table(batch, plan, reached))
            if output is not None:
                found = comparison_document(str(workload), batch, plan, reached)
                write_atomically(output, json.dumps(found, indent=1) + "\n")
                click.echo(f"comparison: {output}")


def _compare(batch: Batch, plan: Plan, reached: list[Reached]) -> None:
    with bar("comparing", len(plan.policies)) as shown:

        def tell(name: str, done: float) -> None:
            shown.update(len(reached) + done, name)

        for result in compare(batch, plan, tell):
            reached.append(result)
            shown.update(len(reached), result.policy)


def _names(text: str) -> list[str]:
    """Return the requested policies.

    Raises:
        ScheduleError: a name is unknown, or there is none.
    """
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in POLICIES:
            raise ScheduleError(f"--policies {name}: no such policy; use {', '.join(POLICIES)}")
    if not names:
        raise ScheduleError(f"--policies: must name at least one of {', '.join(POLICIES)}")
    return names
