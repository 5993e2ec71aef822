"""Signals that ask a command to end."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

from trainer.command.errors import INTERRUPTED

SAME_SECONDS = 1.0
"""Signals within this time are one request: `timeout` and terminals send several."""


class Stop:
    """The handler of SIGINT, SIGTERM and SIGHUP: interrupt the command so that it can be resumed.

    A second signal ends the process at once, except SIGHUP, which a lost connection may send
    several times. This is safe, because files are written under another name and then renamed.

    Attributes:
        asked: whether a signal arrived.
    """

    def __init__(self) -> None:
        self.asked = False
        self._asked_at = 0.0

    def install(self) -> None:
        """Handle SIGINT, SIGTERM and SIGHUP from now on; SIGHUP stays ignored under `nohup`."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal.

        Raises:
            KeyboardInterrupt: it is the first one.
        """
        now = time.monotonic()
        if not self.asked:
            self.asked, self._asked_at = True, now
            raise KeyboardInterrupt
        if number != signal.SIGHUP and now - self._asked_at >= SAME_SECONDS:
            _end_at_once()


def _end_at_once() -> None:
    # Not through Python's streams: the signal may have interrupted a write to them.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.write(sys.stderr.fileno(), b"interrupted again: ended at once\n")
    os._exit(INTERRUPTED)


def end_interrupted(code: int) -> NoReturn:
    """Run the exit functions and end the process without finalizing the interpreter.

    An interrupt may leave a library's native thread in the middle of a call. If that thread asks
    for the interpreter's lock during finalization, the process ends with SIGABRT. Arrow's CSV
    reader did so in one of a hundred interrupted imports.

    Args:
        code: the exit code.
    """
    try:
        # The interpreter's exit calls it as well; it has no public name.
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    finally:
        os._exit(code)
