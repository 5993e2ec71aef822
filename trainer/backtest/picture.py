"""The picture of a backtest: each day's ratio with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainer.backtest.next_day import NextDay
from trainer.figure_file import write_figure

SERVED, NONE_SERVED = "#1f4e79", "#9b9b9b"


def plot_days(days: Sequence[NextDay], synthetic: bool, path: Path) -> None:
    """Draw the ratio of the published policy to the best baseline, by day.

    Args:
        days: at least one.
        synthetic: whether the trace is synthetic.
        path: the image; its suffix determines the format.
    """
    # Slow to import, so only where it is used. The object interface needs no display.
    # Takes a second to import: only where it is used. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="the day's best baseline")
    for number, day in enumerate(days):
        colour = SERVED if day.digest else NONE_SERVED
        axes.plot([number, number], [day.low, day.high], color=colour, linewidth=2)
        axes.plot(number, day.ratio, color=colour, marker="o")
    for label, colour in (("published policy", SERVED), ("none published: silo", NONE_SERVED)):
        axes.plot([], [], color=colour, marker="o", linewidth=2, label=label)
    ticks = [f"{day.day:%a}\n{day.day:%m-%d}\n{day.best}" for day in days]
    axes.set_xticks(range(len(days)), ticks, fontsize=8)
    axes.set_ylabel("throughput relative to the best baseline")
    axes.grid(axis="y", alpha=0.2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="best", fontsize=8)
    made_up = ", synthetic trace" if synthetic else ""
    axes.set_title(f"Published policy on the next day ({days[0].machine}{made_up})", loc="left")
    write_figure(figure, path)
