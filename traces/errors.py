"""The error that this package raises for bad input, and text for its messages."""

from __future__ import annotations

import errno
import os
from reprlib import Repr


class TraceError(ValueError):
    """A trace, a log or an option can't be used.

    The message names the file, the place in it and the column or key, and says what would be valid.
    """


_CUT = Repr()
_CUT.maxstring = _CUT.maxother = _CUT.maxlong = 60

CURES = {
    errno.ENOSPC: "free disk space there",
    errno.EDQUOT: "free disk space in the quota",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "choose a writable file system",
    errno.EACCES: "choose a path that you may access",
    errno.EPERM: "choose a path that you may access",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
}
"""Remedies by the error number of the system."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DISK_FAILS = NO_ROOM | {errno.EIO}


def shown(value: object) -> str:
    """Return a value from a file as messages show it: on one line, and cut if it is long."""
    return _CUT.repr(value)


def why(error: OSError) -> str:
    """Return why a file could not be read or written, with a remedy where one is known."""
    # Some errors of pyarrow have a number but no text of the system.
    reason = os.strerror(error.errno) if error.errno else str(error).split("\n")[0]
    cure = CURES.get(error.errno or 0)
    return f"{reason}; {cure}" if cure else reason


def disk_failed(error: BaseException | None) -> bool:
    """Whether an error, or its cause, is that a disk is full or fails.

    The input is then not at fault, whichever message names the file.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in _DISK_FAILS:
            return True
        error = error.__cause__ or error.__context__
    return False
