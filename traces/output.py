"""Output for people: tables and progress bars."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from traces.fitted_table import fitted
from traces.plain_console import PlainConsole

PIPE_WIDTH = 80
WIDEST = 1000


def print_table(table: RenderableType) -> None:
    """Print a table, fitted to the terminal's width; in a pipe it is as wide as its content."""
    console = PlainConsole(file=sys.stdout)
    if console.is_terminal:
        console.print(fitted(table, console))
    else:
        sys.stdout.write(as_text(table))


def as_text(table: RenderableType) -> str:
    """Return a table as plain text, as wide as its content."""
    width = max(PIPE_WIDTH, PlainConsole(width=WIDEST).measure(table).maximum)
    console = PlainConsole(width=width, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def counts_table(title: str, *columns: str) -> Table:
    """Return an empty table whose first column is text and whose others are numbers."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table


def print_reasons(left_out: Mapping[str, int], guessed: Mapping[str, int]) -> None:
    """Print the rows left out of a trace, and those with a guess, by reason."""
    for title, counts in (("left out", left_out), ("guessed", guessed)):
        if counts:
            print_table(reasons_table(title, counts))


def reasons_table(title: str, counts: Mapping[str, int]) -> Table:
    """Return a table of rows by reason, the most frequent first."""
    table = counts_table("", title, "rows")
    for reason, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        table.add_row(reason, f"{count:,}")
    return table


def counted(number: int, what: str) -> str:
    """Return a number with its noun, such as `1 row` or `2,000 rows`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


class Bar:
    """A progress bar, which only a terminal shows."""

    def __init__(self, progress: Progress, words: str, total: float | None) -> None:
        self._progress = progress
        self._task = progress.add_task(words, total=total, words="")

    def update(self, done: float, words: str) -> None:
        """Show that `done` units of the total are done, followed by `words`."""
        self._progress.update(self._task, completed=done, words=words)


@contextmanager
def bar(words: str, total: float | None) -> Iterator[Bar]:
    """Show a bar on standard error while the block runs; `total` is None if it is unknown."""
    console = PlainConsole(file=sys.stderr)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[words]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        yield Bar(progress, words, total)
