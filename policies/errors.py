"""The error of unusable policy documents, and helpers for messages."""

from __future__ import annotations

import errno
from pathlib import Path


class PolicyFileError(ValueError):
    """A policy document cannot be read, is not valid, or does not fit the workload.

    The message names the file, the line if it is known, the row and the field at fault, and says
    how to correct it.
    """


SHOWN_MAX = 60
"""Length at which values are cut in messages."""


def shown(value: object) -> str:
    """Return a value from a file for a message, on one line and at most `SHOWN_MAX` long."""
    return cut(repr(value))


def cut(text: str) -> str:
    """Return a name from a file for a message, at most `SHOWN_MAX` long."""
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."


CURES = {
    errno.ENOSPC: "free disk space there",
    errno.EDQUOT: "free disk space in the quota",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "choose a writable file system",
    errno.EACCES: "choose a path that you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EPERM: "choose a path that you may write to",
}
"""What to do about a failed write, by error number."""


def refuse_special(target: Path) -> None:
    """Refuse to replace anything but a regular file, such as `/dev/null`.

    Args:
        target: path to replace, with links resolved.

    Raises:
        FileExistsError: the path exists and is no regular file.
    """
    if target.exists() and not target.is_file():
        kind = "a directory" if target.is_dir() else "a device or a pipe"
        raise FileExistsError(errno.EEXIST, f"is {kind}; name a file", str(target))


def regular_text(path: Path) -> str:
    """Return the text of a regular file. Reading a pipe instead would block.

    Raises:
        OSError: the file cannot be read, or is no regular file.
        UnicodeDecodeError: the file is no text.
    """
    if not path.is_dir():  # reading a directory fails with a clear message
        refuse_special(path)
    return path.read_text(encoding="utf-8")


def write_failure_reason(error: OSError | ValueError) -> str:
    """Return why a file could not be written, and what to do if that is known."""
    reason = getattr(error, "strerror", None) or str(error)
    cure = CURES.get(getattr(error, "errno", None) or 0)
    return f"{reason}; {cure}" if cure else reason
