"""Printing for people: tables, and a bar while they wait."""

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
    """Print a table, fitted to a terminal's width; in a pipe it is as wide as it wants to be."""
    console = PlainConsole(file=sys.stdout)
    if console.is_terminal:
        console.print(fitted(table, console))
    else:
        sys.stdout.write(as_text(table))


def as_text(table: RenderableType) -> str:
    """A table as plain text, as wide as it wants to be."""
    width = max(PIPE_WIDTH, PlainConsole(width=WIDEST).measure(table).maximum)
    console = PlainConsole(width=width, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def counts_table(title: str, *columns: str) -> Table:
    """An empty table whose first column is words and whose others are numbers."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table


def print_reasons(left_out: Mapping[str, int], guessed: Mapping[str, int]) -> None:
    """Print what of a log is not in its trace, and what is guessed in it: rows by reason."""
    for title, counts in (("left out", left_out), ("guessed", guessed)):
        if counts:
            print_table(reasons_table(title, counts))


def reasons_table(title: str, counts: Mapping[str, int]) -> Table:
    """Rows by reason, the most first."""
    table = counts_table("", title, "rows")
    for reason, count in sorted(counts.items(), key=lambda one: -one[1]):
        table.add_row(reason, f"{count:,}")
    return table


def counted(number: int, what: str) -> str:
    """A number of things, such as `1 row` or `2,000 rows`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


class Bar:
    """What a person sees while a command works: on a terminal only."""

    def __init__(self, progress: Progress, words: str, total: float | None) -> None:
        self._progress = progress
        self._task = progress.add_task(words, total=total, words="")

    def update(self, done: float, words: str) -> None:
        """So much is done, in the unit of the total; `words` say what matters now."""
        self._progress.update(self._task, completed=done, words=words)


@contextmanager
def bar(words: str, total: float | None) -> Iterator[Bar]:
    """Show a bar on standard error while the block runs; `total` is None if it is not known."""
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
