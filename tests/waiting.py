"""Waiting for an event, with a time limit that suits a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 600.0
"""Longer than any awaited event takes on a slow and shared machine."""


def wait_until(happened: Callable[[], bool], pause_s: float = 0.02) -> None:
    """Return as soon as `happened` returns true."""
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(pause_s)
