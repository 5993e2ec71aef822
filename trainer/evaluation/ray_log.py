"""Ray's output: messages of its nodes and output of the workers, stored in a file of the run."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

STDERR = 2

AUTOSCALER = "autoscaler"
"""The source of a periodic status, of which Ray prints only the events."""

EVENT = ":event_summary:"
"""Marks an event of the autoscaler."""


class RayLog(logging.Handler):
    """Appends what Ray would print to a file; without a file it is dropped.

    A process has one log, as it has one connection to Ray. Runs of a sweep set its file in turn. If
    the disk is full or the folder was removed, messages are lost, but the run continues.
    """

    def __init__(self) -> None:
        super().__init__()
        self.path: Path | None = None
        self._writing = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message of Ray's Python code."""
        self.write(record.getMessage(), source=record.name)

    def write_batch(self, batch: Mapping[str, Any], ignore_prefix: bool = False) -> None:
        """Write lines of another process, in place of Ray's function that prints them.

        Args:
            batch: the lines, the process and its address, as Ray passes them.
            ignore_prefix: Ray's; unused, because a log of several processes needs the prefix.
        """
        lines = batch.get("lines", [])
        if batch.get("pid") == AUTOSCALER:
            lines = [line for line in lines if EVENT in line]
        where = f", {batch['ip']}" if batch.get("ip") else ""
        self.write("\n".join(lines), source=f"{batch.get('pid')}{where}")

    def write(self, text: str, source: str = "heddle") -> None:
        """Write one or more lines, each with the time (UTC) and the source."""
        if self.path is None or not text:
            return
        time = datetime.now(UTC).isoformat(timespec="seconds")
        lines = [f"{time} ({source}) {line}\n" for line in text.splitlines()]
        with (
            self._writing,
            contextlib.suppress(OSError),
            self.path.open("a", encoding="utf-8", errors="replace") as file,
        ):
            file.writelines(lines)

    @property
    def words(self) -> str:
        """The log's location, for the end of an error message; empty if nothing was written."""
        if self.path is None or not self.path.exists():
            return ""
        return f"\nRay's messages: {self.path}"


@contextlib.contextmanager
def native_errors_logged() -> Iterator[list[str]]:
    """Write to the log what native code writes to standard error inside the block.

    Ray's C++ clients write there, past Python, while they connect. The command's own messages use
    another descriptor (`traces.terminal`) and are still shown.

    Yields:
        A list that has the text after the block; it stays empty without a standard error.
    """
    written: list[str] = []
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile())
            shown = os.dup(STDERR)
        except OSError:  # it is closed, or the disk is full: the output could not be shown anyway
            yield written
            return
        stack.callback(os.close, shown)
        os.dup2(file.fileno(), STDERR)
        try:
            yield written
        finally:
            os.dup2(shown, STDERR)
            file.seek(0)
            written.append(file.read().decode(errors="replace"))
            LOG.write(written[0], source="ray")


LOG = RayLog()
"""The log of this process's connection to Ray."""


def take_output(ray: ModuleType) -> bool:
    """Redirect Ray's messages from the terminal to the log, before `ray.init`.

    Ray has no public way to redirect them. `log_to_driver=False` drops only the output of workers.
    A function replaced here prints the dumps of a dead raylet.

    Returns:
        Whether that function exists, so that output of the workers can be enabled as well.
    """
    of_ray = logging.getLogger("ray")
    of_ray.handlers[:] = [LOG]
    of_ray.setLevel(logging.ERROR)
    of_ray.propagate = False
    connection = getattr(getattr(ray, "_private", None), "worker", None)
    if not hasattr(connection, "print_to_stdstream"):
        return False
    vars(connection)["print_to_stdstream"] = LOG.write_batch
    return True
