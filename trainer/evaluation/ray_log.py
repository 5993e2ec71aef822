"""What Ray writes: messages of its nodes and output of the workers, kept in a file of the run."""

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
"""The source of a status every few seconds, which Ray prints nowhere either, but for its events."""

EVENT = ":event_summary:"
"""Marks an event of the autoscaler."""


class RayLog(logging.Handler):
    """Appends what Ray would print to a file; without a file it is dropped.

    A process has one, as it has one connection to Ray. Runs of a sweep name their file in turn. A
    full disk or a removed folder loses messages, never the run.
    """

    def __init__(self) -> None:
        super().__init__()
        self.path: Path | None = None
        self._writing = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message of Ray's Python code."""
        self.write(record.getMessage(), source=record.name)

    def write_batch(self, batch: Mapping[str, Any], ignore_prefix: bool = False) -> None:
        """Keep lines of another process, in the place of Ray's function that prints them.

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
        """Keep a text of one or more lines, each with the time (UTC) and its source."""
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
        """Where to read more, at the end of an error message; empty if nothing was written."""
        if self.path is None or not self.path.exists():
            return ""
        return f"\nRay's messages: {self.path}"


@contextlib.contextmanager
def native_errors_logged() -> Iterator[list[str]]:
    """Keep in the log what native code writes to standard error inside the block.

    Ray's clients in C++ write there while they connect, past Python. The command's own messages
    have another descriptor (`traces.terminal`), and are still shown.

    Yields:
        A list that has the text after the block; it stays empty where there is no standard error.
    """
    written: list[str] = []
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile())
            shown = os.dup(STDERR)
        except OSError:  # it is closed, or there is no room: nothing is lost that could be shown
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
    """Have Ray's messages written to the log instead of the terminal, before `ray.init`.

    Ray has no public way to redirect them. `log_to_driver=False` leaves out the output of workers
    only: the dumps of a raylet that died are printed by a function that is replaced here.

    Returns:
        Whether the function is there, so that output of the workers can be asked for as well.
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
