"""Standard output and standard error, as a command writes them.

Whatever they are, what was measured is not lost to them: characters that they lack are written
otherwise, control characters are written as text, and an output that is full or closed ends the
command with one line.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from typing import TextIO

from traces.errors import NO_ROOM, why
from traces.spelling import ERRORS, escaped

_STYLES = r"\x1b\[[0-9;]*m"
_CONTROLS = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
_PLAIN = re.compile(rf"({_STYLES})|{_CONTROLS}|\r(?!\n)")
"""What is written as text; colours pass."""
_MOVING = re.compile(rf"({_STYLES}|\x1b\[[0-9;?]*[A-Za-z])|{_CONTROLS}")
"""The same where a bar moves the cursor."""


class OutputError(OSError):
    """Standard output can't be written; the message says why."""


class Terminal(io.TextIOWrapper):
    """One of the two outputs of a command.

    Args:
        stream: what Python opened; not to be used any more.
        moving: whether the cursor may be moved, as a bar does.
        needed: whether the command fails if it can't be written; else what is written is dropped.
    """

    def __init__(self, stream: io.TextIOWrapper, *, moving: bool, needed: bool) -> None:
        self._passed = _MOVING if moving else _PLAIN
        self._needed = needed
        self.lost = False
        encoding, at_once = stream.encoding, stream.line_buffering
        super().__init__(
            stream.detach(),
            encoding=encoding,
            errors=ERRORS,
            newline="\n",
            line_buffering=at_once,
        )

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """What libraries are told: every character can be written, some in another spelling."""
        return "utf-8"

    def write(self, text: str, /) -> int:
        """Write a text.

        Raises:
            BrokenPipeError: nobody reads it any more, and it is needed.
            OutputError: it can't be written, for the first time; later what is written is dropped.
        """
        if self.lost:
            return len(text)
        try:
            super().write(self._passed.sub(_escaped, text))
        except OSError as error:
            self._fail(error)
        return len(text)

    def flush(self) -> None:
        """Write what waits; see `write`."""
        if self.lost or self.closed:
            return
        try:
            super().flush()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError) and self._needed:
            raise error
        self.lost = True
        if self._needed:
            reason = "it is closed" if error.errno == errno.EBADF else why(error)
            raise OutputError(f"standard output can't be written: {reason}") from error


def open_terminals() -> tuple[Terminal, Terminal]:
    """Put a `Terminal` in the place of both outputs, also where they are closed.

    Returns:
        Standard output and standard error.
    """
    out = Terminal(_opened(sys.stdout, 1), moving=False, needed=True)
    moving = sys.stderr is not None and sys.stderr.isatty()
    err = Terminal(_of_its_own(_opened(sys.stderr, 2)), moving=moving, needed=False)
    sys.stdout, sys.stderr = out, err
    # Python closes these at its end; what they had has another owner now.
    sys.__stdout__, sys.__stderr__ = out, err  # type: ignore[misc]
    sys.unraisablehook = tell_unraisable
    return out, err


def tell_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Python's report of an error that nobody can catch, but for files that a full disk cut off.

    A library's file tries once more when it is collected; the command has told of it by then.
    """
    error = unraisable.exc_value
    if not (isinstance(error, OSError) and error.errno in NO_ROOM):
        sys.__unraisablehook__(unraisable)


def _opened(stream: TextIO | None, number: int) -> io.TextIOWrapper:
    """A stream; for one that is closed, one that can't be written.

    Its number is taken, or the next file to be opened would get what the engine prints.
    """
    if isinstance(stream, io.TextIOWrapper):
        return stream
    if stream is not None:
        return io.TextIOWrapper(stream.buffer)
    null = os.open(os.devnull, os.O_RDONLY)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    return io.TextIOWrapper(io.BufferedWriter(_Closed()))


def _of_its_own(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """The same output under a descriptor of its own.

    So what native code writes to standard error can be put elsewhere for a while, and messages of
    the command are shown meanwhile (`trainer.evaluation.ray_log`).
    """
    try:
        number = os.dup(stream.fileno())
    except OSError:
        return stream  # it has no descriptor, or can't get another one
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(number, "w")),
        encoding=stream.encoding,
        line_buffering=stream.line_buffering,
    )


class _Closed(io.RawIOBase):
    """What takes no byte, as a closed output does."""

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def _escaped(found: re.Match[str]) -> str:
    return found[1] or escaped(found[0])
