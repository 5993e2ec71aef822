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
"""Signals that follow so soon are one request: `timeout` and terminals send several."""


class Stop:
    """Ctrl-C, SIGTERM and a terminal that hangs up: keep what was measured, say how to resume.

    A second signal ends the process at once, but for SIGHUP, which comes several times from one
    lost connection. Files are written beside and renamed, so none is cut
    off, and a run's last checkpoint is there.

    Attributes:
        asked: whether a signal arrived.
    """

    def __init__(self) -> None:
        self.asked = False
        self._asked_at = 0.0

    def install(self) -> None:
        """Handle SIGINT, SIGTERM and SIGHUP from here on; `nohup` keeps the last from arriving."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """A signal arrived.

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
    # Not through Python's streams: the signal may have come in the middle of a write to them.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.write(sys.stderr.fileno(), b"interrupted again: ended at once\n")
    os._exit(INTERRUPTED)


def end_interrupted(code: int) -> NoReturn:
    """End the process, with what is to be done at its end, but do not take the interpreter down.

    An interrupt may leave a library's native thread in the middle of a call; one that asks for the
    interpreter's lock while that goes away ends the process with SIGABRT (Arrow's reader of CSV
    did, in one of a hundred interrupted imports).

    Args:
        code: the exit code.
    """
    try:
        # What an exit of the interpreter calls as well; there is no public name for it.
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    finally:
        os._exit(code)
