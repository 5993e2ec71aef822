"""The picture of a transfer matrix: a heat map, a row per policy and a column per place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from envs import machine_words
from envs.transfer import LEFT_OUT, Column, Transfer
from trainer.figure_file import write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DARK = 0.62
"""The share of the best above which a cell is dark and its figure white."""
FRAME = "#f0962e"
"""The colour of the frame of training places, visible on light and on dark cells."""


def plot_transfer(found: Transfer, title: str, path: Path) -> None:
    """Draw throughput relative to the best policy as colour, and to the reference as a figure.

    Cells of policies in the place of their training have a frame.

    Args:
        found: the measurements, in at least one place.
        title: of the picture.
        path: the image; its ending gives the format.
    """
    # Takes a second to import, so only here. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = found.measured
    names = 0.09 * max(map(len, found.labels))
    size = (max(6.0, 1.5 + names + 1.3 * len(columns)), 1.9 + 0.42 * len(found.policies))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    shares = _cells(found, Column.to_best)
    shown = [[float("nan") if cell is None else cell for cell in row] for row in shares]
    image = axes.imshow(shown, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    _write_cells(axes, found, shares)
    _frame_training_places(axes, found)
    axes.set_xticks(range(len(columns)), [_place_words(column) for column in columns], fontsize=9)
    axes.set_yticks(range(len(found.policies)), found.labels)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    figures = f"figures: throughput ÷ {found.reference}"
    if found.left_out:
        figures += f"\n{LEFT_OUT} did not keep the workload's mix"
    axes.set_title(f"{title}\n{figures}", loc="left", fontsize=10)
    figure.colorbar(image, ax=axes, label="throughput ÷ the best there")
    write_figure(figure, path)


def _cells(
    found: Transfer, value: Callable[[Column, str], float | None]
) -> list[list[float | None]]:
    return [[value(column, name) for column in found.measured] for name in found.policies]


def _write_cells(axes: Axes, found: Transfer, shares: list[list[float | None]]) -> None:
    for at, name in enumerate(found.policies):
        for across, column in enumerate(found.measured):
            share, best = shares[at][across], column.best
            axes.text(
                across,
                at,
                _figure(column, name),
                ha="center",
                va="center",
                color="white" if share is not None and share > DARK else "black",
                weight="bold" if best is not None and best.subject.name == name else "normal",
            )


def _figure(column: Column, name: str) -> str:
    ratio, row = column.to_reference(name), column.comparison.row(name)
    return "–" if ratio is None or row is None else f"{column.mark(row)}{ratio:.2f}"


def _frame_training_places(axes: Axes, found: Transfer) -> None:
    from matplotlib.patches import Rectangle

    for at, column in enumerate(found.measured):
        for row in column.comparison.rows:
            if row.subject.name in found.policies and column.place.is_training_place(row.subject):
                corner = (at - 0.46, found.policies.index(row.subject.name) - 0.44)
                frame = Rectangle(corner, 0.92, 0.88, fill=False, edgecolor=FRAME, linewidth=2.5)
                axes.add_patch(frame)


def _place_words(column: Column) -> str:
    place, best = column.place, column.best
    words = [place.label.replace(", ", "\n")]
    if "cores" not in place.label or place.host.crowded:
        words.append(machine_words(place.host))
    words.append(f"best: {best.throughput / 1000:,.0f} K/s" if best else "nothing committed")
    return "\n".join(words)
