"""The picture of a training run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from traces.figure_texts import legend_label
from trainer.checkpoint import GenerationRecord, best_curve
from trainer.figure_file import write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED = "#1f4e79", "#9bb3c9"
LINE = 110
"""Characters of a line of the legend."""
SERIES = (INK, "#c8781e", "#1f9d80", "#8a3fd1", "#8c6d31", "#4a4a4a", "#b5838d", "#6b8e23")
"""The colours of several runs, used in turn."""


def plot_history(history: Sequence[GenerationRecord], reference: str, path: Path) -> None:
    """Draw `history_figure` into an image; its ending gives the format.

    Raises:
        WritingError: it can't be written.
    """
    figure = history_figure(history, reference)
    title = f"{len(history)} generations, {history[-1].seconds:.0f} s of search"
    figure.axes[0].set_title(title, loc="left")
    write_figure(figure, path)


def history_figure(history: Sequence[GenerationRecord], reference: str) -> Figure:
    """Return a figure of fitness over evaluations: incumbent, best, and generations' range.

    The incumbent's estimate falls if further samples are lower. The best is the highest estimate
    until then, less one standard error, and never falls.

    Args:
        history: one record per generation, at least one.
        reference: what fitness is relative to, for the label.
    """
    figure, axes = _empty_figure(reference)
    steps = [record.evaluations for record in history]
    axes.fill_between(
        steps,
        [record.worst for record in history],
        [record.best for record in history],
        color=MUTED,
        alpha=0.3,
        linewidth=0,
        label="generation's range",
    )
    axes.plot(steps, [record.median for record in history], color=MUTED, label="median")
    estimates = [record.estimate for record in history]
    axes.plot(steps, estimates, color=INK, marker=".", label="incumbent, by its samples then")
    axes.step(
        steps,
        best_curve(history),
        where="post",
        color=INK,
        linewidth=2,
        linestyle="--",
        label="best, less one standard error",
    )
    axes.set_ylim(bottom=min(0.7, min(record.median for record in history)))
    _add_legend(figure, axes)
    return figure


def histories_figure(histories: Mapping[str, Sequence[GenerationRecord]], reference: str) -> Figure:
    """Return a figure of the best over evaluations, with a line per run.

    Args:
        histories: by the run's name, at least one record each.
        reference: what fitness is relative to, for the label.
    """
    figure, axes = _empty_figure(reference)
    for (name, history), colour in zip(histories.items(), cycle(SERIES), strict=False):
        axes.plot(
            [record.evaluations for record in history],
            best_curve(history),
            color=colour,
            linewidth=2,
            marker=".",
            label=legend_label(name),
        )
    _add_legend(figure, axes)
    return figure


def _add_legend(figure: Figure, axes: Axes) -> None:
    """Add a legend below the axes, where it hides no curve."""
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, min(len(labels), LINE // (6 + max(map(len, labels), default=0))))
    figure.legend(
        handles, labels, frameon=False, loc="outside lower left", ncols=columns, fontsize=9
    )


def _empty_figure(reference: str) -> tuple[Figure, Axes]:
    # Takes a second to import, so only here. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label=legend_label(reference))
    axes.set_xlabel("evaluations")
    axes.set_ylabel(f"throughput ÷ {reference}")
    axes.grid(alpha=0.2)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
