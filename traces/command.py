"""`heddle trace`: make traces, look at them.

Exit codes: 0 fine, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from traces.errors import TraceError
from traces.lazy_group import LazyGroup

BAD_INPUT = 2
INTERRUPTED = 130

COMMANDS = {
    "import": "traces.import_command:import_trace",
    "show": "traces.show_command:show",
    "stats": "traces.statistics.command:stats",
    "peaks": "traces.statistics.command:peaks",
    "predict": "traces.statistics.command:predict",
    "synth": "traces.synthesis.command:synth",
    "replay": "traces.replay.command:replay",
    "record": "trainer.command.record:record",
}
"""The commands below `heddle trace`, and where each is. To add one, write it and name it here."""

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(
    "trace",
    cls=LazyGroup,
    places=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def trace() -> None:
    """Make traces of workloads and look at them.

    A trace is a folder: trace.json, which says what it is, and a Parquet file or more a day.
    """


def one_message(command: Command) -> Command:
    """Turn what people can get wrong into one message on stderr and exit code 2."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except TraceError as error:
            click.echo(f"error: {error}", err=True)
            raise SystemExit(BAD_INPUT) from None
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None

    return run  # type: ignore[return-value]
