"""Options that several of the commands below `heddle lab` take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from trainer.command.output import refuse_bad_output
from trainer.schedule.batch import PROTOCOLS
from trainer.schedule.errors import ScheduleError

Command = TypeVar("Command", bound=Callable[..., Any])

SEED_MAX = 1_000_000_000_000
OUTPUT = "output="


class NumberRange(click.FloatRange):
    """A range of numbers; `nan`, which is in click's, is in none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """See `click.ParamType`."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("nan is no number", param, ctx)
        return number


with_input = click.option(
    "--input",
    "workload",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The workload, JSON.",
)
with_protocol = click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default=PROTOCOLS[0],
    show_default=True,
    help="Whose rules say when an operation may run.",
)
with_seed = click.option(
    "--seed",
    type=click.IntRange(0, SEED_MAX),
    default=1,
    show_default=True,
    help="Of what is drawn.",
)


def with_output(what: str) -> Callable[[Command], Command]:
    """`output=FILE`, and the option `--output` for it, as `words` and `output`."""

    def decorate(command: Command) -> Command:
        option = click.option(
            "--output", type=click.Path(path_type=Path), metavar="FILE", help=f"Write {what} here."
        )
        argument = click.argument("words", nargs=-1, metavar="[output=FILE]")
        return argument(option(command))

    return decorate


def output_file(words: Sequence[str], output: Path | None, workload: Path) -> Path | None:
    """Where to write, before anything is done for it.

    Args:
        words: what was typed beside the options.
        output: the option.
        workload: the file that is read; it is not written over.

    Raises:
        ScheduleError: something else was typed, two files, or the workload itself.
        UsageError: the file can't be written there.
    """
    for word in words:
        if not word.startswith(OUTPUT):
            raise ScheduleError(f"{word}: give output=FILE, or an option; --help has them")
        if output is not None:
            raise ScheduleError(f"{word}: names a second file; give one")
        if word == OUTPUT:
            raise ScheduleError(f"{word}: names no file; such as output=result.json")
        output = Path(word.removeprefix(OUTPUT))
    refuse_bad_output(None if output is None else str(output))
    if output is not None and output.exists() and workload.exists() and output.samefile(workload):
        raise ScheduleError(f"output={output}: is the workload itself; name another file")
    return output
