"""Standard output and standard error of a command.

Characters that the encoding lacks are replaced, control characters are escaped, and a full or
closed output ends the command with a message of one line. No results are lost to such failures.
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
"""Characters that are escaped; color sequences pass."""
_MOVING = re.compile(rf"({_STYLES}|\x1b\[[0-9;?]*[A-Za-z])|{_CONTROLS}")
"""The same for an output in which a progress bar moves the cursor."""


class OutputError(OSError):
    """Standard output can't be written; the message names the reason."""


class Terminal(io.TextIOWrapper):
    """One of the two outputs of a command.

    Args:
        stream: the stream that Python opened; it must not be used afterwards.
        moving: whether sequences that move the cursor pass, as a progress bar needs.
        needed: whether a failing write ends the command; otherwise the text is dropped.
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
        """The encoding that libraries see: every character can be written, perhaps replaced."""
        return "utf-8"

    def write(self, text: str, /) -> int:
        """Write a text.

        Raises:
            BrokenPipeError: the reader of a needed output is gone.
            OutputError: the first write failed; later text is dropped.
        """
        if self.lost:
            return len(text)
        try:
            super().write(self._passed.sub(_escaped, text))
        except OSError as error:
            self._fail(error)
        return len(text)

    def flush(self) -> None:
        """Write buffered text; see `write`."""
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
    """Replace both outputs by a `Terminal` each, even if they are closed.

    Returns:
        Standard output and standard error.
    """
    out = Terminal(_opened(sys.stdout, 1), moving=False, needed=True)
    moving = sys.stderr is not None and sys.stderr.isatty()
    err = Terminal(_with_own_descriptor(_opened(sys.stderr, 2)), moving=moving, needed=False)
    sys.stdout, sys.stderr = out, err
    # Python closes these at exit, but their buffers now belong to the new streams.
    sys.__stdout__, sys.__stderr__ = out, err  # type: ignore[misc]
    sys.unraisablehook = report_unraisable
    return out, err


def report_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Report an exception that can't be raised, unless a full disk caused it.

    A library's file object writes again when it is collected; the command has reported the error.
    """
    error = unraisable.exc_value
    if not (isinstance(error, OSError) and error.errno in NO_ROOM):
        sys.__unraisablehook__(unraisable)


def _opened(stream: TextIO | None, number: int) -> io.TextIOWrapper:
    """Return a stream, or one that can't be written in place of a closed one.

    The descriptor is occupied, because the next open file would otherwise get the engine's output.
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


def _with_own_descriptor(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return the same output with a descriptor of its own.

    Native code's standard error can then be redirected for a while, and messages of the command
    still appear (`trainer.evaluation.ray_log`).
    """
    try:
        number = os.dup(stream.fileno())
    except OSError:
        return stream  # no descriptor, or the limit is reached
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(number, "w")),
        encoding=stream.encoding,
        line_buffering=stream.line_buffering,
    )


class _Closed(io.RawIOBase):
    """Rejects every byte, as a closed output does."""

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def _escaped(found: re.Match[str]) -> str:
    return found[1] or escaped(found[0])
