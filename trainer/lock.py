"""One process at a time works in a folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from policies.errors import why_not_written
from trainer.checkpoint import WritingError

FILE_NAME = ".lock"


class HeldError(ValueError):
    """Another process holds the folder."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder; the lock ends with the process, however that ends.

    Raises:
        HeldError: another process holds it.
        WritingError: the lock's file can't be written.
    """
    path = folder / FILE_NAME
    try:
        file = path.open("w")
    except OSError as error:
        raise WritingError(f"{path}: can't be written: {why_not_written(error)}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeldError(f"{folder}: another process is working here") from None
        yield
