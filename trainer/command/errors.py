"""Known errors as one message and an exit code; errors in Heddle itself keep their trace."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

BAD_INPUT = 2
FAILED = 1
NOT_BETTER = 3
"""A learned policy is not significantly better than every baseline."""
INTERRUPTED = 130
LONGEST = 60
"""Characters of an overlong name that a message repeats."""

OURS = ("envs", "trainer", "engine")
"""Packages whose errors are reported without a trace."""

Command = TypeVar("Command", bound=Callable[..., Any])


class UsageError(Exception):
    """A wrong setting or argument; the message says what is wrong and what would be right."""


def one_message(command: Command) -> Command:
    """Turn known errors into a message on standard error and an exit code, without a trace."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None
        except Exception as error:
            found = _known(error)
            if found is None:
                raise
            message, code = found
            click.echo(f"error: {message}", err=True)
            raise SystemExit(code) from None

    return run  # type: ignore[return-value]


def _known(error: Exception) -> tuple[str, int] | None:
    """Return the message and the exit code of a known error; None for any other."""
    # Imported here, so that a successful command does not load modules that it does not use.
    from envs import MeasuringError, UnknownPolicyError
    from policies import PolicyFileError
    from traces.errors import TraceError, disk_failed
    from trainer.checkpoint import CheckpointError
    from trainer.lock import HeldError
    from trainer.run_folder import RunFolderError
    from trainer.schedule.errors import ScheduleError

    bad_input = (
        UsageError,
        UnknownPolicyError,
        PolicyFileError,
        TraceError,
        CheckpointError,
        HeldError,
        RunFolderError,
        ScheduleError,
    )
    if isinstance(error, bad_input):
        return str(error), FAILED if disk_failed(error) else BAD_INPUT
    if isinstance(error, (MeasuringError, ImportError, RuntimeError)):
        ours = type(error).__module__.split(".")[0] in OURS
        return (str(error), FAILED) if ours or isinstance(error, ImportError) else None
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        name = Path(str(error.filename)).name
        return f"{name[:LONGEST]}...: is too long for the name of a file", BAD_INPUT
    return None


@contextmanager
def resumed_by(command: str, how: str = "resume with") -> Iterator[None]:
    """Print how to resume a command if it is interrupted, and exit with 130.

    Args:
        command: the command that resumes (`heddle_command`).
        how: the words before it.
    """
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"interrupted; {how}: {command}", err=True)
        raise SystemExit(INTERRUPTED) from None
