"""The picture of a policy table: a row per access, a column per action, colours for actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies import PolicyDocument
from policies.in_words import policy_words
from trainer.report.table import CellView, RowView, table_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = {
    "wait": ("waits for an access", "#9bb3c9"),
    "end": ("waits for the end", "#5b83a8"),
    "dirty": ("reads what is published", "#e3b37c"),
    "public": ("publishes", "#c8781e"),
    "early": ("validates early", "#8fb890"),
}
"""The actions of cells (`trainer.report.table.CellView.mark`) in words, with their colours."""
NOTHING, MOOT, CHANGED = "#f4f4f4", "#8a8a8a", "#b3261e"
ACTIONS = ("read", "write", "validate")
_LEFT = 2.2
"""Width of the column with the names of accesses, in widths of the other columns."""


def policy_figure(document: PolicyDocument, before: PolicyDocument | None = None) -> Figure:
    """Draw the CC table. Each cell has its value, in grey if it can have no effect.

    Args:
        document: the policy.
        before: another policy for the same workload; cells that differ have a red frame.
    """
    # Takes a second to import, so only here. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    view = table_view(document, document.name, before)
    columns = [*(f"waits for\n{name}" for name in view.waits), *ACTIONS]
    height = sum(len(rows) + 1 for _, rows in view.types)
    figure = Figure(figsize=(1.3 * (len(columns) + _LEFT), 0.27 * (height + 4)))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-_LEFT, len(columns))
    axes.set_ylim(height + 1.5, -2.5)
    title = policy_words(document.name)
    axes.text(-_LEFT + 0.05, -1.9, title, fontsize=12, fontweight="bold", va="center")
    for column, name in enumerate(columns):
        axes.text(column + 0.5, -0.6, name, fontsize=8, ha="center", va="center")
    line = 0
    for kind, rows in view.types:
        axes.text(-_LEFT + 0.05, line + 0.55, kind, fontsize=9, fontweight="bold", va="center")
        line += 1
        for row in rows:
            _draw_row(axes, row, line)
            line += 1
    _draw_legend(axes, height + 0.9, before)
    return figure


def _draw_row(axes: Axes, row: RowView, line: int) -> None:
    name = f"{row.state}  {row.on}{' *' if row.loop else ''}"
    axes.text(-_LEFT + 0.15, line + 0.5, name, fontsize=8, va="center")
    for column, cell in enumerate(row.cells):
        _draw_cell(axes, cell, column, line)


def _draw_cell(axes: Axes, cell: CellView, column: int, line: int) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle(
            (column + 0.03, line + 0.06),
            0.94,
            0.88,
            facecolor=MARKS[cell.mark][1] if cell.mark else NOTHING,
            edgecolor=CHANGED if cell.before else "none",
            linewidth=1.2,
        )
    )
    colour = MOOT if cell.moot or not cell.mark else "black"
    text = cell.text if len(cell.text) <= 15 else f"{cell.text[:14]}…"
    axes.text(
        column + 0.5,
        line + 0.52,
        text,
        fontsize=7,
        ha="center",
        va="center",
        color=colour,
        fontstyle="italic" if cell.moot else "normal",
        parse_math=False,  # names come from files, where $ is no formula
    )


def _draw_legend(axes: Axes, line: float, before: PolicyDocument | None) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=words) for words, colour in MARKS.values()]
    if before is not None:
        words = f"different in {policy_words(before.name)}"
        handles.append(Patch(facecolor="none", edgecolor=CHANGED, label=words))
    axes.legend(handles=handles, loc="lower left", ncols=3, frameon=False, fontsize=8)
