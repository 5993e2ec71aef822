"""Fits tables to narrow terminals without breaking words or cutting columns off."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

WIDEST = 10_000
LONG_WORD = 20
"""Longer words, such as `new_order.update_district`, may be broken."""


def fitted(what: RenderableType, console: Console) -> RenderableType:
    """Return a table, or a group of them, fitted to the console's width.

    A table that fits is unchanged. If it fits with its cells wrapped between words, its columns get
    such widths. Otherwise each row becomes a paragraph, `header cell; header cell`.
    """
    if isinstance(what, Group):
        return Group(*(fitted(part, console) for part in what.renderables))
    if not isinstance(what, Table):
        return what
    wide = console.options.update_width(WIDEST)
    ranges = [_range(column, console) for column in what.columns]
    whole = Measurement.get(console, wide, _without_words(what)).maximum
    most = [size.maximum for size in ranges]
    spare = console.width - (whole - sum(most))
    if sum(most) <= spare:
        return what
    least = [size.minimum for size in ranges]
    if sum(least) > spare:
        return Group(*_paragraphs(what))
    for column, width in zip(what.columns, _widths(least, most, spare), strict=True):
        column.width, column.overflow = width, "fold"
    return what


def _range(column: Column, console: Console) -> Measurement:
    """Return the smallest and the largest useful width of a column."""
    wide = console.options.update_width(WIDEST)
    sizes = [Measurement.get(console, wide, size) for size in (column.header, *column.cells)]
    most = max(size.maximum for size in sizes)
    least = min(LONG_WORD, max(size.minimum for size in sizes))
    return Measurement(most if column.no_wrap else least, most)


def _without_words(table: Table) -> Table:
    """Return the table without its title and caption, which wrap by themselves."""
    bare = Table(box=table.box, padding=table.padding, show_edge=table.show_edge)
    bare.columns, bare.rows = table.columns, table.rows
    return bare


def _widths(least: list[int], most: list[int], spare: int) -> list[int]:
    """Return widths that sum to `spare`, taking from the widest columns first."""
    widths = list(most)
    while sum(widths) > spare:
        able = [at for at, width in enumerate(widths) if width > least[at]]
        widths[max(able, key=lambda at: widths[at])] -= 1
    return widths


def _paragraphs(table: Table) -> Iterator[RenderableType]:
    if table.title:
        yield Text(_one_line(table.title), "bold")
    headers = [_one_line(column.header) for column in table.columns]
    for row, *cells in zip(table.rows, *(column.cells for column in table.columns), strict=True):
        words = [_one_line(cell) for cell in cells]
        parts = [
            f"{header} {word}".strip() for header, word in zip(headers, words, strict=True) if word
        ]
        text = Text("; ".join(parts), style=row.style or "")
        text.stylize("bold", 0, len(parts[0]) if parts else 0)
        # Continued lines are indented, so that the start of each row is visible.
        yield Padding(_hanging(text), (0, 0, 1 if row.end_section else 0, 0))
    if table.caption:
        yield Text(_one_line(table.caption), "italic")


def _hanging(text: Text) -> Table:
    """Return a text with a hanging indent."""
    grid = Table.grid(padding=0)
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    grid.add_row(Text("- "), text)
    return grid


def _one_line(what: RenderableType | None) -> str:
    plain = what.plain if isinstance(what, Text) else str(what or "")
    return " ".join(plain.split())
