"""Progress of a run: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

QUIET_SECONDS = 5.0
"""Least time between two plain lines."""


class Display(Protocol):
    """Shows the progress of successive phases."""

    console: Console

    def begin(self, phase: str, total: float | None, done: float = 0.0) -> None:
        """Start a phase, of which `done` is done already.

        Both are in the unit of `update`; `total` is None if the end is unknown.
        """

    def update(self, done: float, words: str = "") -> None:
        """Show how much of the phase is done, with a short text."""

    def say(self, text: str) -> None:
        """Print a line that stays."""

    def __enter__(self) -> Display:
        """Start showing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop showing."""


class BarDisplay:
    """A bar with a short text and the time left. See `Display`."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[words]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            # Drawing takes processor time from the measurement.
            refresh_per_second=2,
        )
        self._task: TaskID | None = None

    def begin(self, phase: str, total: float | None, done: float = 0.0) -> None:
        """See `Display`."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(phase, total=total, words="")
        self._progress.update(self._task, completed=done)

    def update(self, done: float, words: str = "") -> None:
        """See `Display`."""
        if self._task is not None:
            self._progress.update(self._task, completed=done, words=words)

    def say(self, text: str) -> None:
        """See `Display`."""
        self.console.print(text, markup=False, highlight=False)

    def __enter__(self) -> BarDisplay:
        """See `Display`."""
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """See `Display`."""
        self._progress.stop()


class LineDisplay:
    """A line every few seconds. See `Display`."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._phase = ""
        self._total: float | None = None
        self._begun = 0.0
        self._started = self._last = 0.0

    def begin(self, phase: str, total: float | None, done: float = 0.0) -> None:
        """See `Display`."""
        self._phase, self._total, self._begun = phase, total, done
        self._started = self._last = time.monotonic()
        self.say(f"{phase} …")

    def update(self, done: float, words: str = "") -> None:
        """See `Display`."""
        now = time.monotonic()
        if now - self._last < QUIET_SECONDS:
            return
        self._last = now
        parts = [self._phase, *([words] if words else [])]
        if self._total and done > self._begun:
            pace = (now - self._started) / (done - self._begun)
            left = pace * max(0.0, self._total - done)
            parts.append(f"{min(1.0, done / self._total):.0%}, {left:.0f} s left")
        self.say("  ".join(parts))

    def say(self, text: str) -> None:
        """See `Display`."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)
        self.console.file.flush()

    def __enter__(self) -> LineDisplay:
        """See `Display`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """See `Display`."""


def make_display(console: Console) -> Display:
    """Return a bar for a terminal, else lines."""
    return BarDisplay(console) if console.is_terminal else LineDisplay(console)
