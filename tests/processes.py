"""The state of other processes, read from `/proc`."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from tests.waiting import wait_until


def descendants(ancestor: int) -> list[int]:
    """Return the ids of all descendants of a process."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parents[int(path.name)] = int(_state(path)[1])
    below = [ancestor]
    for one in below:
        below += [child for child, parent in parents.items() if parent == one]
    return below[1:]


def is_alive(process: int, but: bytes | None = None) -> bool:
    """Whether a process runs and its command line lacks `but`; a zombie does not run."""
    try:
        if but is not None and but in Path(f"/proc/{process}/cmdline").read_bytes():
            return False
        return _state(Path(f"/proc/{process}"))[0] != "Z"
    except OSError:
        return False


def stop(process: int) -> None:
    """Stop a process, and wait until each of its threads has stopped: the signal comes later.

    One that has ended has stopped.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGSTOP)
    wait_until(lambda: _is_stopped(process), 0.001)


def _is_stopped(process: int) -> bool:
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
        return all(_state(thread)[0] in "TZX" for thread in threads)
    except OSError:  # it has ended, or one of its threads: look again
        return not is_alive(process)


def cpu_seconds(process: int) -> float:
    """Return the processor time of a process and its descendants; other load does not add to it."""
    ticks = 0
    for one in (process, *descendants(process)):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, _state(Path(f"/proc/{one}"))[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _state(path: Path) -> list[str]:
    """Return the fields of `/proc/ID/stat` after the name: state, parent and so on."""
    return (path / "stat").read_text().rpartition(")")[2].split()
