"""Creates the folder of a trace, completely or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traces.errors import TraceError, why
from traces.manifest import FILE_NAME


def refuse_existing(folder: Path, replace: bool) -> None:
    """Check that a folder can be created, before the work that fills it.

    Raises:
        TraceError: its parent is missing, or it exists and must not be replaced.
    """
    refuse_bad_name(folder)
    if not folder.parent.is_dir():
        raise TraceError(f"{folder}: there is no directory {folder.parent}; create it first")
    if not (folder.exists() or folder.is_symlink()):
        return
    if not replace:
        raise TraceError(f"{folder}: already exists; name another folder, or give --replace")
    if not (folder / FILE_NAME).is_file():
        raise TraceError(f"{folder}: is not a trace and is not replaced; name another folder")


def refuse_bad_name(folder: Path) -> None:
    """Check that a name is UTF-8, which Parquet's library requires.

    Raises:
        TraceError: it is not.
    """
    try:
        str(folder.absolute()).encode()
    except UnicodeEncodeError:
        raise TraceError(f"{folder}: its name is not UTF-8; name another") from None


@contextmanager
def created_atomically(folder: Path, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder next to `folder`, and rename it to `folder` at the end.

    If the block raises, `folder` stays unchanged. Temporary folders of killed processes are
    removed.

    Raises:
        TraceError: the folder can't be created.
    """
    refuse_existing(folder, replace)
    folder = folder.absolute()
    _remove_left_behind(folder)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    # An interrupt may come as soon as the folder is made.
    try:
        with _failure_named(folder):
            temporary.mkdir()
        yield temporary
        with _failure_named(folder):
            _put_in_place(temporary, folder, replace)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _failure_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TraceError(f"{folder}: can't be written: {why(error)}") from None


def _put_in_place(temporary: Path, folder: Path, replace: bool) -> None:
    refuse_existing(folder, replace)
    if not folder.exists():
        temporary.rename(folder)
        return
    old = temporary.with_suffix(".old")
    folder.rename(old)
    try:
        temporary.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    if old.is_symlink():
        old.unlink()
    else:
        shutil.rmtree(old, ignore_errors=True)


def _remove_left_behind(folder: Path) -> None:
    for path in folder.parent.glob(f".{folder.name}.*.part"):
        process = path.suffixes[-2][1:] if len(path.suffixes) > 1 else ""
        if process.isdigit() and not _runs(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _runs(process: int) -> bool:
    with contextlib.suppress(PermissionError):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True
