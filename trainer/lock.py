"""One process at a time works in a folder."""

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
"""What file systems answer that have no locks, such as some that are shared over a network."""

_log = logging.getLogger(__name__)


class HeldError(ValueError):
    """Another process holds the folder."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder; the lock ends with the process, however that ends.

    Where the file system has no locks, a warning says so and nothing is held.

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
            raise HeldError(f"{folder}: another process is working here") from None
        except OSError as error:
            raise WritingError(f"{path}: can't be locked: {write_failure_reason(error)}") from error
        yield


def lock(file: IO[str], path: Path, *, wait: bool) -> bool:
    """Lock an open file until it is closed.

    Args:
        file: the open file.
        path: its name, for the warning.
        wait: until whoever holds it lets it go.

    Returns:
        Whether it is locked; False, and a warning, where the file system has no locks.

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
            "%s: the file system has no locks (%s): make sure that no other process works in %s",
            path,
            error.strerror,
            path.parent,
        )
        return False
    return True


def is_held(path: Path) -> bool:
    """Whether another process works there; a folder that can't be written to is not held."""
    try:
        with held(path):
            return False
    except HeldError:
        return True
    except RuntimeError:
        return False
