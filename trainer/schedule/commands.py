"""The commands below `heddle lab` that place transactions."""

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
    help="Indexes of the transactions, from 0, JSON.  [default: as the workload has them]",
)
@with_protocol
@one_message
def makespan(workload: Path, order: Path | None, protocol: str) -> None:
    """Print how many time units a schedule takes."""
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
    help=f"Which to compare, of {', '.join(POLICIES)}.  [default: all]",
)
@click.option(
    "--evaluations",
    type=click.IntRange(1, 100_000_000),
    default=5000,
    show_default=True,
    help="Schedules that a policy that searches may evaluate.",
)
@click.option(
    "--seconds",
    type=NumberRange(0, 1_000_000, min_open=True),
    default=60.0,
    show_default=True,
    help="After which a policy is stopped and has what it has; the table says so.",
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
    """Order a workload by every policy; print what each reaches, and in how many seconds.

    An online policy never moves what it has placed. What Ctrl-C ends is reported as far as it came.
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

        for one in compare(batch, plan, tell):
            reached.append(one)
            shown.update(len(reached), one.policy)


def _names(text: str) -> list[str]:
    """The policies that were asked for.

    Raises:
        ScheduleError: one is unknown, or none was named.
    """
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in POLICIES:
            raise ScheduleError(f"--policies {name}: there is none; give {', '.join(POLICIES)}")
    if not names:
        raise ScheduleError(f"--policies: names none; give one or more of {', '.join(POLICIES)}")
    return names
