"""`heddle lab generate`: a workload drawn as a benchmark draws it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import click

from policies.errors import cut
from trainer.checkpoint import write_atomically
from trainer.command.errors import one_message
from trainer.command.output import refuse_bad_output
from trainer.schedule.errors import ScheduleError
from trainer.schedule.files import workload_text
from trainer.schedule.generators.registry import GENERATORS, Generator, generate
from trainer.schedule.options import with_seed

EXAMPLES = """
\b
Examples:
  heddle lab generate tpcc --output workload.json
  heddle lab generate ycsb theta=0.99 records=1000 --transactions 2000 --output hot.json
"""


def _described() -> str:
    lines = ["\b", "Parameters:"]
    for name, kind in GENERATORS.items():
        lines += [
            f"  {name}: {setting.name}={setting.default} {setting.metadata['help']}"
            for setting in fields(kind)
        ]
    return "\n".join(lines)


@click.command("generate", epilog=f"{_described()}\n{EXAMPLES}")
@click.argument("name", metavar="WORKLOAD", type=click.Choice(list(GENERATORS)))
@click.argument("parameters", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--transactions",
    type=click.IntRange(1, 1_000_000),
    default=500,
    show_default=True,
    help="Number of transactions.",
)
@with_seed
@click.option(
    "--output", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Output file."
)
@one_message
def generate_workload(
    name: str, parameters: tuple[str, ...], transactions: int, seed: int, output: Path
) -> None:
    """Generate a workload: epinions, smallbank, taobench, tpcc, ycsb, or the simulator's.

    The same seed and parameters give the same file. Defaults are those of the SMF paper (VLDB 2024,
    section 5.1) and of the benchmarks.
    """
    refuse_bad_output(str(output))
    generator = configured(name, parameters)
    write_atomically(output, workload_text(generate(generator, transactions, seed)))
    click.echo(f"{output}: {transactions} transactions of {name}")


def configured(name: str, parameters: Sequence[str]) -> Generator:
    """Return a generator with parameters from the command line, `key=value`.

    Raises:
        ScheduleError: a parameter is unknown, not a number, or out of range.
    """
    known = {field.name: field for field in fields(GENERATORS[name])}
    values: dict[str, float] = {}
    for text in parameters:
        key, equals, value = text.partition("=")
        if not equals or key not in known:
            raise ScheduleError(f"{cut(text)}: must be a parameter of {name}: {', '.join(known)}")
        kind = int if isinstance(known[key].default, int) else float
        least, most = known[key].metadata["range"]
        try:
            number = kind(value)
        except (ValueError, OverflowError):
            number = math.nan
        if not least <= number <= most:
            what = "an integer" if kind is int else "a number"
            raise ScheduleError(f"{cut(text)}: must be {what} from {least} to {most}")
        values[key] = number
    made: Generator = GENERATORS[name](**values)
    return made
