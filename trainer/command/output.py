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
    """For what passes by while a command works: standard error."""
    return PlainConsole(file=sys.stderr)


def write_and_show(
    write: Callable[[], list[str]], show: Callable[[], None], *, as_json: bool = False
) -> None:
    """Write files before what they hold is shown: a closed pipe costs no file.

    And what can't be written is shown all the same.

    Args:
        write: writes them; what it returns is shown last.
        show: shows.
        as_json: whether what is shown is for programs: standard output has nothing else then.

    Raises:
        WritingError: as `write` does, once it is shown.
    """
    written: list[str] = []
    try:
        written = write()
    finally:
        show()
        for line in written:
            click.echo(line, err=as_json)


def refuse_bad_output(output: str | None, key: str = "output") -> None:
    """Before minutes of measuring, not after; `key` is the setting's name.

    Raises:
        UsageError: the file can't be written there.
    """
    if output is None:
        return
    if not Path(output).parent.is_dir():
        raise UsageError(f"{key}={output}: there is no directory {Path(output).parent}")
    try:
        refuse_special(Path(os.path.realpath(output)))
        # As `write_atomically` names it: a name may be too long for that alone.
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
    """The same for an image: the setting `picture`, beside the one that `output` names.

    Raises:
        UsageError: it can't be written there, or is no kind of image.
    """
    if picture is None:
        return
    refuse_bad_output(picture, "picture")
    if not picture.endswith(PICTURE_ENDINGS):
        raise UsageError(f"picture={picture}: must end in {', '.join(PICTURE_ENDINGS)}")
    if output is not None and Path(picture).resolve() == Path(output).resolve():
        raise UsageError(f"picture={picture}: is also output=; name another file")


def make_output_folder(output: str | None, file: str) -> Path | None:
    """The folder that `output=` names, made if need be: before minutes of measuring, not after.

    Args:
        output: the setting; None: nothing is to be written.
        file: what will be written into it.

    Raises:
        UsageError: it can't be made, or not be written to.
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
            f"output={folder}: can't be made: {write_failure_reason(error)}"
        ) from error
    refuse_bad_output(str(folder / file))
    return folder
