"""The folder of a trace, which comes to be as a whole or not at all."""

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
    """Before hours of work, not after.

    Raises:
        TraceError: the folder can't be made there, or is there and is not to be replaced.
    """
    refuse_bad_name(folder)
    if not folder.parent.is_dir():
        raise TraceError(f"{folder}: there is no directory {folder.parent}; make it first")
    if not (folder.exists() or folder.is_symlink()):
        return
    if not replace:
        raise TraceError(f"{folder}: exists already; name another folder, or say --replace")
    if not (folder / FILE_NAME).is_file():
        raise TraceError(f"{folder}: is no trace, so it is not replaced; name another folder")


def refuse_bad_name(folder: Path) -> None:
    """Parquet's library opens names that are UTF-8 only.

    Raises:
        TraceError: the folder's is not.
    """
    try:
        str(folder.absolute()).encode()
    except UnicodeEncodeError:
        raise TraceError(f"{folder}: its name is not UTF-8; choose another") from None


@contextmanager
def made_whole(folder: Path, replace: bool = False) -> Iterator[Path]:
    """A folder beside `folder` to write to; it takes its place if nothing went wrong.

    What a killed process left beside it is removed.

    Raises:
        TraceError: it can't be made there.
    """
    refuse_existing(folder, replace)
    folder = folder.absolute()
    _remove_left_behind(folder)
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        beside.mkdir()
    except OSError as error:
        raise TraceError(f"{folder}: can't be written: {why(error)}") from None
    try:
        yield beside
        try:
            _put_in_place(beside, folder, replace)
        except OSError as error:
            raise TraceError(f"{folder}: can't be written: {why(error)}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _put_in_place(beside: Path, folder: Path, replace: bool) -> None:
    refuse_existing(folder, replace)
    if not folder.exists():
        beside.rename(folder)
        return
    old = beside.with_suffix(".old")
    folder.rename(old)
    try:
        beside.rename(folder)
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
