"""The one error that this package raises for a document it can't use, and words for messages."""

from __future__ import annotations

import errno
from pathlib import Path


class PolicyFileError(ValueError):
    """A policy document that can't be read, is not valid, or does not fit the workload.

    The message is complete for a person: it names the file, the line where it is known, the row
    and the field at fault, and says what would be right.
    """


SHOWN_MAX = 60
"""Longer values are cut in messages: a file may hold anything."""


def shown(value: object) -> str:
    """A value out of a file as messages show it, on one line and not too long."""
    return cut(repr(value))


def cut(text: str) -> str:
    """A name out of a file as messages show it: not too long."""
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."


CURES = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room in the quota",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "choose a place that can be written to",
    errno.EACCES: "choose a place that can be written to",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EPERM: "choose a place that can be written to",
}
"""What to do, by what the system answers to a write."""


def refuse_special(target: Path) -> None:
    """Refuse to put a file in the place of what is none, such as `/dev/null`.

    Args:
        target: what is to be replaced; links are followed already.

    Raises:
        FileExistsError: it is there, and no regular file.
    """
    if target.exists() and not target.is_file():
        kind = "a directory" if target.is_dir() else "a device or a pipe"
        raise FileExistsError(errno.EEXIST, f"is {kind}; name a file", str(target))


def regular_text(path: Path) -> str:
    """The text of a file that a command keeps: a pipe in its place would be waited for.

    Raises:
        OSError: it can't be read, or is no regular file.
        UnicodeDecodeError: it is no text.
    """
    if not path.is_dir():  # of which reading says so itself
        refuse_special(path)
    return path.read_text(encoding="utf-8")


def write_failure_reason(error: OSError | ValueError) -> str:
    """Why a file could not be written, and the cure where one is known."""
    reason = getattr(error, "strerror", None) or str(error)
    cure = CURES.get(getattr(error, "errno", None) or 0)
    return f"{reason}; {cure}" if cure else reason
