"""Printing for people: terminals and pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile

import click

from policies.errors import refuse_special, write_failure_reason
from traces.output import as_text, print_table
from traces.plain_console import PlainConsole
from trainer.checkpoint import UNFINISHED
from trainer.command.errors import UsageError

__all__ = [
    "as_text",
    "make_output_folder",
    "make_progress_console",
    "print_table",
    "refuse_bad_output",
    "refuse_bad_picture",
    "write_and_show",
]

PICTURE_ENDINGS = (".png", ".svg", ".pdf")


def make_progress_console() -> PlainConsole:
    """Return the console for progress: standard error."""
    return PlainConsole(file=sys.stderr)


def write_and_show(
    write: Callable[[], list[str]], show: Callable[[], None], *, as_json: bool = False
) -> None:
    """Write files, then show their content: a closed pipe costs no file.

    The content is also shown if writing fails.

    Args:
        write: writes the files, and returns lines that are shown last.
        show: shows the content.
        as_json: whether standard output is JSON, so that the lines go to standard error.

    Raises:
        WritingError: `write` failed; raised after the content is shown.
    """
    written: list[str] = []
    try:
        written = write()
    finally:
        show()
        for line in written:
            click.echo(line, err=as_json)


def refuse_bad_output(output: str | None, key: str = "output") -> None:
    """Refuse an output file that can't be written, before anything is measured.

    Args:
        output: the file; None: there is none.
        key: the setting's name, for the message.

    Raises:
        UsageError: the file can't be written there.
    """
    if output is None:
        return
    if not Path(output).parent.is_dir():
        raise UsageError(f"{key}={output}: there is no directory {Path(output).parent}")
    try:
        refuse_special(Path(os.path.realpath(output)))
        # Try the longer name that `write_atomically` uses.
        path = Path(output)
        with NamedTemporaryFile(prefix=f".{path.name}.", suffix=UNFINISHED, dir=str(path.parent)):
            pass
    except FileExistsError as error:
        raise UsageError(f"{key}={output}: {error.strerror}") from error
    except OSError as error:
        raise UsageError(
            f"{key}={output}: the directory can't be written to: {write_failure_reason(error)}"
        ) from error


def refuse_bad_picture(picture: str | None, output: str | None) -> None:
    """Refuse an image that can't be written, has an unknown ending, or is also the output.

    Raises:
        UsageError: it is one of these.
    """
    if picture is None:
        return
    refuse_bad_output(picture, "picture")
    if not picture.endswith(PICTURE_ENDINGS):
        raise UsageError(f"picture={picture}: must end in {', '.join(PICTURE_ENDINGS)}")
    if output is not None and Path(picture).resolve() == Path(output).resolve():
        raise UsageError(f"picture={picture}: is also output=; name another file")


def make_output_folder(output: str | None, file: str) -> Path | None:
    """Return the folder that `output=` names; create it before anything is measured.

    Args:
        output: the setting; None: nothing is written.
        file: a file that will be written into it.

    Raises:
        UsageError: it can't be created or written to.
    """
    if output is None:
        return None
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"output={folder}: there is a file in the place of a folder; name a folder"
        ) from error
    except OSError as error:
        raise UsageError(
            f"output={folder}: can't be created: {write_failure_reason(error)}"
        ) from error
    refuse_bad_output(str(folder / file))
    return folder
