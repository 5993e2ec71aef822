"""`heddle trace`: import, generate, describe and replay traces.

Exit codes: 0 success, 1 the disk is full or fails, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from traces.errors import TraceError, disk_failed
from traces.lazy_group import LazyCommand, LazyGroup

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

COMMANDS = {
    "import": LazyCommand("traces.import_command:import_trace", "Convert a log into a trace."),
    "show": LazyCommand("traces.show_command:show", "Describe a trace: source, counts and types."),
    "stats": LazyCommand(
        "traces.statistics.command:stats",
        "Count requests and conflicts; find and predict peak hours.",
    ),
    "synth": LazyCommand("traces.synthesis.command:synth", "Generate a synthetic trace of a shop."),
    "replay": LazyCommand("traces.replay.command:replay", "Prepare a part of a trace for replay."),
    "record": LazyCommand(
        "trainer.command.record:record",
        "Run a workload and write its trace.",
    ),
}
"""The commands below `heddle trace`, in the order of the help. To add one, name it here."""

RENAMED = {
    "peaks": "heddle trace stats --peaks",
    "predict": "heddle trace stats --predict",
}
"""What replaces the commands that were renamed."""

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(
    "trace",
    cls=LazyGroup,
    lazy=COMMANDS,
    renamed=RENAMED,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def trace() -> None:
    """Import, generate and analyze traces of workloads.

    A trace is a folder with a description, trace.json, and Parquet files for each day.
    """


def one_message(command: Command) -> Command:
    """Report an error of the input in one line on standard error, and exit with 2, or 1."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except TraceError as error:
            click.echo(f"error: {error}", err=True)
            raise SystemExit(FAILED if disk_failed(error) else BAD_INPUT) from None
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None

    return run  # type: ignore[return-value]
