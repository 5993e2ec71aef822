"""Printing for people: terminals and pipes."""

from __future__ import annotations

import sys

from rich.console import Console, RenderableType

PIPE_WIDTH = 80
WIDEST = 1000


def make_console() -> Console:
    """For what a command reports: standard output."""
    return Console(file=sys.stdout, highlight=False, emoji=False)


def make_progress_console() -> Console:
    """For what passes by while a command works: standard error."""
    return Console(file=sys.stderr, highlight=False, emoji=False)


def print_table(table: RenderableType) -> None:
    """Print a table; in a pipe, where no one can widen a window, as wide as it wants to be."""
    console = make_console()
    if console.is_terminal:
        console.print(table)
    else:
        sys.stdout.write(as_text(table))


def as_text(table: RenderableType) -> str:
    """A table as plain text, as wide as it wants to be."""
    width = max(PIPE_WIDTH, Console(width=WIDEST).measure(table).maximum)
    console = Console(width=width, color_system=None, highlight=False, emoji=False)
    with console.capture() as capture:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())
