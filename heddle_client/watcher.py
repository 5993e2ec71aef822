"""A thread that puts a policy file in force when it changes."""

from __future__ import annotations

import threading
import weakref
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heddle_client.scheduler import Scheduler

Signature = tuple[int, int, int] | None


def signature(path: str | PathLike[str]) -> Signature:
    """Return what differs between two versions of a file; None if there is none."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Watcher:
    """Checks a policy file every `period` seconds until it is closed, or the scheduler is gone."""

    def __init__(
        self, scheduler: Scheduler, path: str | PathLike[str], period: float, known: Signature
    ) -> None:
        self._scheduler = weakref.ref(scheduler)
        self._path = path
        self._period = period
        self._known = known
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="heddle_client watcher", daemon=True).start()

    def close(self) -> None:
        """End the thread, at the latest after the check that it is in."""
        self._closed.set()

    def again(self, scheduler: Scheduler) -> Watcher:
        """Return a new watcher of the same file: threads do not survive a fork."""
        return Watcher(scheduler, self._path, self._period, self._known)

    def _run(self) -> None:
        while not self._closed.wait(self._period):
            scheduler = self._scheduler()
            if scheduler is None:
                return
            found = signature(self._path)
            if found != self._known:
                self._known = found
                scheduler.load(self._path)
            del scheduler  # it ends while the thread waits
