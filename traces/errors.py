"""The one error that this package raises for what people hand it, and words for its messages."""

from __future__ import annotations

import errno
import os
from reprlib import Repr


class TraceError(ValueError):
    """A trace, a log or an option that can't be used.

    The message is complete for a person: it names the file, the place in it, the column or key at
    fault, and says what would be right.
    """


_CUT = Repr()
_CUT.maxstring = _CUT.maxother = _CUT.maxlong = 60

CURES = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room in the quota",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "choose a place that can be written to",
    errno.EACCES: "choose a place that may be used",
    errno.EPERM: "choose a place that may be used",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
}
"""What to do, by what the system answers."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DISK_FAILS = NO_ROOM | {errno.EIO}


def shown(value: object) -> str:
    """A value out of a file as messages show it, on one line and not too long."""
    return _CUT.repr(value)


def why(error: OSError) -> str:
    """Why a file could not be read or written, and the cure where one is known."""
    # pyarrow's errors have a number and no words of the system's.
    reason = os.strerror(error.errno) if error.errno else str(error).split("\n")[0]
    cure = CURES.get(error.errno or 0)
    return f"{reason}; {cure}" if cure else reason


def disk_failed(error: BaseException | None) -> bool:
    """Whether an error comes from a disk that is full or fails.

    Nothing that was typed is wrong then, whichever message names the file.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in _DISK_FAILS:
            return True
        error = error.__cause__ or error.__context__
    return False
