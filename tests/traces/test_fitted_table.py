"""Tables on narrow terminals."""

from __future__ import annotations

import pytest
from rich.console import Group
from rich.table import Table

from traces.fitted_table import fitted
from traces.output import as_text
from traces.plain_console import PlainConsole

HEADERS = ("policy", "commits/s", "aborts", "new_order\np50 / p99 µs")
ROW = ("a_policy_with_a_long_name", "1,234,567", "0.1%", "13 / 54")


def a_table(*rows: tuple[str, ...]) -> Table:
    table = Table(title="tpcc on 2 cores", caption="one run")
    table.add_column(HEADERS[0], no_wrap=True)
    for header in HEADERS[1:]:
        table.add_column(header, justify="right")
    for row in rows or (ROW,):
        table.add_row(*row)
    return table


def drawn(table: Table, width: int) -> str:
    """Return a table as Rich draws it without fitting."""
    console = PlainConsole(width=width)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def shown(what: Table | Group, width: int) -> str:
    console = PlainConsole(width=width)
    with console.capture() as capture:
        console.print(fitted(what, console))
    return capture.get()


@pytest.mark.parametrize("width", [200, 80, 60, 40, 25])
def test_no_width_cuts_a_word(width: int) -> None:
    text = shown(a_table(), width)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    assert "…" not in text
    together = "".join(text.split())
    for word in (*HEADERS, *ROW):
        for part in word.split():
            assert part in together


def test_a_table_that_fits_is_unchanged() -> None:
    assert shown(a_table(), 200).rstrip() == drawn(a_table(), 200).rstrip()


def test_rows_become_paragraphs_if_columns_do_not_fit() -> None:
    lines = shown(Group("a heading", a_table(ROW, ROW)), 40).splitlines()
    assert lines[0].strip() == "a heading"
    assert [line for line in lines if line.startswith("- ")] == [
        "- policy a_policy_with_a_long_name;".ljust(40)
    ] * 2


def test_names_are_shown_literally() -> None:
    text = as_text(a_table(("[red]a[/]", ":smile:", "\x1b]0;x\x07", "a\nb")))
    assert "[red]a[/]" in text
    assert ":smile:" in text
    assert "\\x1b]0;x\\x07" in text
    assert "\x1b" not in text
