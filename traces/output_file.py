"""Result files of the commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from traces.atomic_file import replaced_atomically
from traces.errors import TraceError, why
from traces.result_file import file_text


def refuse_bad_output(path: Path | None, option: str) -> None:
    """Check that a file can be written, before the work that fills it.

    Args:
        path: the file; None: no file.
        option: the option that names it, for the message.

    Raises:
        TraceError: the file can't be written.
    """
    if path is None:
        return
    if path.is_dir():
        raise TraceError(f"{option} {path}: is a directory; name a file in it")
    if path.exists() and not path.is_file():  # such as /dev/null
        raise TraceError(f"{option} {path}: is a device or a pipe; name a file")
    if not path.parent.is_dir():
        raise TraceError(f"{option} {path}: there is no directory {path.parent}; create it first")
    try:
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise TraceError(
            f"{option} {path}: the directory can't be written to: {why(error)}"
        ) from None


def write_results(
    path: Path, document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Write results atomically; see `file_text`.

    Raises:
        TraceError: the file can't be written.
    """
    try:
        with replaced_atomically(path) as beside:
            beside.write_text(file_text(path, document, rows), encoding="utf-8")
    except OSError as error:
        raise TraceError(f"{path}: can't be written: {why(error)}") from None
