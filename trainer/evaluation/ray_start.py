"""Starting Ray with a time-out, so that an interrupt leaves no half-started Ray."""

from __future__ import annotations

import os
import threading
from types import ModuleType
from typing import Any

START_SECONDS = 60.0
"""Time-out for Ray's start if a core is free for it."""

CANCEL_SECONDS = 20.0
"""How long an interrupt waits for a start in progress, to stop what was started."""


class LateError(RuntimeError):
    """Ray has not started within the time-out."""


def init_within(ray: ModuleType, **arguments: Any) -> None:
    """Call `ray.init` in its own thread.

    There it can be abandoned, and it installs no signal handlers: Ray's own prints a stack when a
    process is asked to stop.

    Args:
        ray: the module.
        **arguments: of `ray.init`.

    Raises:
        LateError: it takes longer than `START_SECONDS`, times the processes that wait for a core.
        KeyboardInterrupt: Ctrl-C; what was started is stopped.
        Exception: any error of `ray.init`.
    """
    failures: list[BaseException] = []
    started = threading.Event()

    def start() -> None:
        try:
            ray.init(**arguments)
        except BaseException as error:
            failures.append(error)
        started.set()
        # Ray's processes must stop with the thread that started them (PR_SET_PDEATHSIG).
        threading.Event().wait()

    thread = threading.Thread(target=start, name="ray-start", daemon=True)
    seconds = START_SECONDS * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))
    try:
        thread.start()
        in_time = started.wait(seconds)
    except KeyboardInterrupt:
        if thread.is_alive() and started.wait(CANCEL_SECONDS):
            ray.shutdown()
        raise
    if not in_time:
        raise LateError(
            f"it has not started within {seconds:.0f} s: Ray's processes may not reach each other; "
            "check that the loopback interface is up (ip link show lo)"
        )
    if failures:
        raise failures[0]
