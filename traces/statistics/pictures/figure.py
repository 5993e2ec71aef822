"""Common parts of the pictures: figures, files and axes of days."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from traces.atomic_file import replaced_atomically
from traces.errors import TraceError, why
from traces.figure_texts import names_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf")
INK, MUTED, WARNING = "#1f4e79", "#9bb3c9", "#b3261e"
SATURDAY = 5
EVERY_DAY_MAX = 10
"""The maximum number of days that are labeled each; more are labeled by week."""
EVERY_WEEK_MAX = 70
"""The maximum number of days that are labeled by week; more are labeled by month."""


def new_figure(width: float, height: float) -> Figure:
    """Create an empty figure, in inches. The object interface needs no display."""
    # The import takes a second, so it is done only here.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure to a file atomically; the file's ending determines the format.

    Raises:
        TraceError: the file can't be written.
    """
    try:
        with replaced_atomically(path) as beside, names_as_they_are(figure):
            figure.savefig(beside, dpi=150, format=path.suffix[1:])
    except OSError as error:
        raise TraceError(f"{path}: can't be written: {why(error)}") from None


def mark_synthetic(figure: Figure) -> None:
    """Mark the picture as synthetic, because pictures are shared without their text."""
    figure.text(
        0.995,
        0.99,
        "SYNTHETIC TRACE",
        ha="right",
        va="top",
        color=WARNING,
        fontsize=10,
        fontweight="bold",
    )


def label_days(axes: Axes, days: Sequence[date]) -> None:
    """Label an axis of day numbers by day, by week or by month."""
    if len(days) <= EVERY_DAY_MAX:
        labelled = list(range(len(days)))
        texts = [f"{day:%a}\n{day.day} {day:%b}" for day in days]
    elif len(days) <= EVERY_WEEK_MAX:
        labelled = [at for at, day in enumerate(days) if day.weekday() == 0]
        texts = [f"Mon\n{days[at].day} {days[at]:%b}" for at in labelled]
    else:
        labelled = [at for at, day in enumerate(days) if day.day == 1]
        texts = [f"1 {days[at]:%b}\n{days[at].year}" for at in labelled]
    axes.set_xticks(labelled, texts)
    mondays = [at for at, day in enumerate(days) if day.weekday() == 0 and at not in labelled]
    axes.set_xticks(mondays, minor=True)
    axes.tick_params(axis="x", which="major", length=7)
    axes.tick_params(axis="x", which="minor", length=3)
    axes.set_xlim(-0.5, len(days) - 0.5)


def percent_text(share: float, position: float | None = None) -> str:
    """Return the label of a share, as a tick formatter of matplotlib."""
    return f"{100 * share:.3g}%"


def count_text(count: float, position: float | None = None) -> str:
    """Return the label of a count, as a tick formatter of matplotlib."""
    return f"{count:,.0f}"
