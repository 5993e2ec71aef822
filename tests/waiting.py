"""Waiting for an event: until it happens, however busy the machine is with other things."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 600.0
"""Longer than anything that the tests wait for takes on a slow machine that others use, too."""


def wait_until(happened: Callable[[], bool], pause_s: float = 0.02) -> None:
    """Return as soon as it has."""
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(pause_s)
