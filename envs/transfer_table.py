"""Render a transfer matrix as a table."""

from __future__ import annotations

from rich import box
from rich.table import Table

from envs.table import machine_words
from envs.transfer import LEFT_OUT, Column, Place, Transfer
from envs.windows import runs_words

NONE = "–"
"""The cell of a policy without measurements or commits."""

PLACES_MAX = 3
"""Maximum number of places whose deviating runs are listed."""


def transfer_table(found: Transfer, title: str) -> Table:
    """Return a transfer matrix as a table with one row per policy and one column per place.

    A cell has the throughput relative to the reference, and relative to the best policy there.

    Args:
        found: the transfer matrix.
        title: title of the table.
    """
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for column in found.measured:
        table.add_column(_heading(column.place), justify="right", no_wrap=True)
    for name, label in zip(found.policies, found.labels, strict=True):
        table.add_row(label, *(_cell(column, name) for column in found.measured))
    table.add_section()
    table.add_row(f"{found.reference}, K/s", *map(_reference_words, found.measured))
    table.add_row("best", *map(_best_words, found.measured))
    table.caption = _caption(found)
    table.caption_justify = "left"
    return table


def _heading(place: Place) -> str:
    parts = place.label.split(", ")
    # A label has the number of workers, which may exceed that of the cores.
    if place.host.crowded:
        parts.append(machine_words(place.host).replace(" on ", "\non "))
    return "\n".join(parts)


def _cell(column: Column, name: str) -> str:
    ratio, share, row = column.to_reference(name), column.to_best(name), column.comparison.row(name)
    if ratio is None or share is None or row is None:
        return NONE
    trained = "*" if column.place.is_training_place(row.subject) else ""
    return f"{trained}{column.mark(row)}{ratio:.2f} ({share:.0%})"


def _reference_words(column: Column) -> str:
    row = column.comparison.row(column.reference)
    return f"{column.mark(row)}{row.throughput / 1000:,.0f}" if row else NONE


def _best_words(column: Column) -> str:
    best = column.best
    return f"{column.mark(best)}{best.subject.name}" if best else NONE


def _caption(found: Transfer) -> str:
    parts = [
        f"throughput ÷ {found.reference} (÷ the best there), median of the ratios within each "
        "repeat",
        "* trained for that workload on that number of cores",
    ]
    if found.interrupted:
        parts.append("interrupted: not all runs were made")
    lines = ["; ".join(parts), f"K/s: {runs_words(found.all_runs)}"]
    lines += _first_of(found.window_remarks)
    if found.left_out:
        lines.append(f"{LEFT_OUT} did not keep the workload's mix: {'; '.join(found.left_out)}")
    lines += _first_of(found.overdue)
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])


def _first_of(remarks: list[str]) -> list[str]:
    more = len(remarks) - PLACES_MAX
    columns = "column has such runs" if more == 1 else "columns have such runs"
    return [*remarks[:PLACES_MAX], *([f"{more} more {columns}"] if more > 0 else [])]
