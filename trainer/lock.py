"""Locks of folders, so that one process at a time uses each."""

from __future__ import annotations

import errno
import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from policies.errors import write_failure_reason
from trainer.checkpoint import WritingError

FILE_NAME = ".lock"

UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""Errors of file systems without locks, such as some network file systems."""

_log = logging.getLogger(__name__)


class HeldError(ValueError):
    """Another process holds the folder."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a folder in a context; the lock also ends with the process.

    On a file system without locks, a warning is logged and the folder is not locked.

    Raises:
        HeldError: another process holds it.
        WritingError: the lock's file can't be written.
    """
    path = folder / FILE_NAME
    try:
        file = path.open("w")
    except OSError as error:
        raise WritingError(f"{path}: can't be written: {write_failure_reason(error)}") from error
    with file:
        try:
            lock(file, path, wait=False)
        except BlockingIOError:
            raise HeldError(f"{folder}: another process uses this folder") from None
        except OSError as error:
            raise WritingError(f"{path}: can't be locked: {write_failure_reason(error)}") from error
        yield


def lock(file: IO[str], path: Path, *, wait: bool) -> bool:
    """Lock an open file until it is closed.

    Args:
        file: the open file.
        path: its name, for the warning.
        wait: whether to wait until another process releases it.

    Returns:
        Whether it is locked; False, with a warning, if the file system has no locks.

    Raises:
        BlockingIOError: another process holds it, and `wait` is false.
        OSError: locking failed otherwise.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        _log.warning(
            "%s: the file system has no locks (%s); make sure that no other process uses %s",
            path,
            error.strerror,
            path.parent,
        )
        return False
    return True


def is_held(path: Path) -> bool:
    """Return whether another process holds the folder; a read-only folder is not held."""
    try:
        with held(path):
            return False
    except HeldError:
        return True
    except RuntimeError:
        return False
