"""Options shared by commands of `heddle lab`."""

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
    """A range of numbers without `nan`, which click's range accepts."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """See `click.ParamType`."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("nan is not a number", param, ctx)
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
    help="Protocol whose rules apply.",
)
with_seed = click.option(
    "--seed",
    type=click.IntRange(0, SEED_MAX),
    default=1,
    show_default=True,
    help="Seed of the random numbers.",
)


def with_output(what: str) -> Callable[[Command], Command]:
    """Return a decorator for `output=FILE` and `--output`, passed as `words` and `output`."""

    def decorate(command: Command) -> Command:
        option = click.option(
            "--output", type=click.Path(path_type=Path), metavar="FILE", help=f"Write {what} to it."
        )
        argument = click.argument("words", nargs=-1, metavar="[output=FILE]")
        return argument(option(command))

    return decorate


def output_file(words: Sequence[str], output: Path | None, workload: Path) -> Path | None:
    """Check the output file before any work is done, and return it.

    Args:
        words: the arguments that are not options.
        output: the option.
        workload: the input file, which must not be overwritten.

    Raises:
        ScheduleError: there is another argument, a second file, or the workload itself.
        UsageError: the file can't be written.
    """
    for word in words:
        if not word.startswith(OUTPUT):
            raise ScheduleError(f"{word}: must be output=FILE, or an option; see --help")
        if output is not None:
            raise ScheduleError(f"{word}: is a second output file; name only one")
        if word == OUTPUT:
            raise ScheduleError(f"{word}: must name a file, such as output=result.json")
        output = Path(word.removeprefix(OUTPUT))
    refuse_bad_output(None if output is None else str(output))
    if output is not None and output.exists() and workload.exists() and output.samefile(workload):
        raise ScheduleError(f"output={output}: is the input workload; name another file")
    return output
