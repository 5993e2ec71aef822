"""`heddle lab sample`: the rank of schedules among all serializable ones."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from rich.table import Table

from traces.output import bar, counts_table
from trainer.checkpoint import write_atomically
from trainer.command.errors import one_message
from trainer.command.output import print_table
from trainer.schedule.batch import Batch
from trainer.schedule.errors import ScheduleError
from trainer.schedule.files import read_batch
from trainer.schedule.options import (
    NumberRange,
    output_file,
    with_input,
    with_output,
    with_protocol,
    with_seed,
)
from trainer.schedule.policies import POLICIES, Task
from trainer.schedule.sampling import (
    plan_sampling,
    sample_makespans,
    samples_needed,
    share_bounded,
)

COMPARED = ("fifo", "smf", "composite")
QUANTILES = (0.01, 0.5, 0.99)
SAMPLES_MAX = 10_000_000

EXAMPLES = """
\b
Examples:
  heddle lab sample --input workload.json
  heddle lab sample --input workload.json --samples 4603 output=sample.json
"""


@click.command("sample", epilog=EXAMPLES)
@with_output("the sample, JSON,")
@with_input
@with_protocol
@with_seed
@click.option(
    "--share",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    default=0.99,
    show_default=True,
    help="Share of all schedules that the sample's best must match or beat.",
)
@click.option(
    "--confidence",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of --share.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, SAMPLES_MAX),
    help="Sample size.  [default: from --share and --confidence]",
)
@one_message
def sample(
    words: tuple[str, ...],
    output: Path | None,
    workload: Path,
    protocol: str,
    seed: int,
    share: float,
    confidence: float,
    samples: int | None,
) -> None:
    """Draw serializable schedules uniformly; print the share that some policies beat.

    The sample is a random walk over the acyclic orientations of the conflict graph.
    """
    output = output_file(words, output, workload)
    batch = read_batch(workload)
    count = samples or samples_needed(share, confidence)
    if count > SAMPLES_MAX:
        raise ScheduleError(
            f"--share {share} --confidence {confidence}: need {count:,} schedules, more than "
            f"{SAMPLES_MAX:,}; lower one of them"
        )
    plan = plan_sampling(len(batch), count, seed)
    with bar("sampling", count) as shown:
        found = sample_makespans(
            batch, protocol, plan, lambda done: shown.update(done, f"{done:,} schedules")
        )
    reached = _reached(batch, protocol, seed)
    print_table(_table(found, reached))
    bounded = share_bounded(count, confidence)
    click.echo(
        f"The best of {count:,} is as short as or shorter than {_rounded_down(bounded)} of all "
        f"serializable schedules, with a confidence of {confidence}."
    )
    if output is not None:
        document = {
            "schema_version": 1,
            "kind": "schedule sample",
            "workload": str(workload),
            "protocol": protocol,
            "seed": seed,
            "burn_in": plan.burn_in,
            "between": plan.between,
            "confidence": confidence,
            "share": bounded,
            "makespans": found.tolist(),
            "policies": reached,
        }
        write_atomically(output, json.dumps(document) + "\n")
        click.echo(f"sample: {output}")


def _rounded_down(share: float) -> str:
    """Format a lower bound of a share, rounded down so that it still holds."""
    return f"{math.floor(share * 1e6) / 1e6:.4%}"


def _reached(batch: Batch, protocol: str, seed: int) -> dict[str, int]:
    task = Task(batch, protocol, seed)
    return {name: task.makespan(POLICIES[name].order(task)) for name in COMPARED}


def _table(found: npt.NDArray[np.int64], reached: dict[str, int]) -> Table:
    table = counts_table("makespans", "", "makespan", "longer in the sample")
    rows: dict[str, float] = {"shortest": found.min(), "mean": found.mean(), "longest": found.max()}
    rows |= {f"quantile {quantile:.0%}": np.quantile(found, quantile) for quantile in QUANTILES}
    for name, makespan in (rows | reached).items():
        table.add_row(name, f"{makespan:,.0f}", f"{(found > makespan).mean():.1%}")
    return table
