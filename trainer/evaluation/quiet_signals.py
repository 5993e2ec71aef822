"""Stopping without interruption: signals that arrive while processes are being stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ignore_signals() -> None:
    """Ignore further requests to stop, for the rest of the process."""
    if threading.current_thread() is threading.main_thread():
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def signals_ignored() -> Iterator[None]:
    """Ignore further requests to stop inside the block, which is short and must complete."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    ignore_signals()
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: a handler that was not installed from Python and can't be restored from it.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
