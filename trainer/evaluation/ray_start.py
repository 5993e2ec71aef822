"""Starting Ray within a deadline, and so that an interrupt finds no half of it."""

from __future__ import annotations

import os
import threading
from types import ModuleType
from typing import Any

START_SECONDS = 60.0
"""How long Ray may take to start where a core is free for it."""

CANCEL_SECONDS = 20.0
"""How long an interrupt waits for a start that is under way, to end what it has started."""


class LateError(RuntimeError):
    """Ray has not started in time."""


def init_within(ray: ModuleType, **arguments: Any) -> None:
    """Call `ray.init` in a thread of its own.

    There it can be given up, and it installs no signal handlers: Ray's own prints a stack where a
    process is asked to end.

    Args:
        ray: the module.
        **arguments: of `ray.init`.

    Raises:
        LateError: it takes longer than `START_SECONDS`, times the processes that wait for a core.
        KeyboardInterrupt: Ctrl-C; what was started is ended.
        Exception: any, as `ray.init` raises them.
    """
    failures: list[BaseException] = []
    started = threading.Event()

    def start() -> None:
        try:
            ray.init(**arguments)
        except BaseException as error:
            failures.append(error)
        started.set()
        # Ray's processes are to end with the thread that started them (PR_SET_PDEATHSIG).
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
            f"it has not started within {seconds:.0f} s: Ray's processes may not reach one "
            "another; check that the loopback interface is up (ip link show lo)"
        )
    if failures:
        raise failures[0]
