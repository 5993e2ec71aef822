"""The picture of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainer.checkpoint import GenerationRecord
from trainer.figure_file import write_figure

INK, MUTED = "#1f4e79", "#9bb3c9"


def plot_history(history: Sequence[GenerationRecord], reference: str, path: Path) -> None:
    """Draw fitness over evaluations: the best, the median, and the range of a generation.

    Args:
        history: one record a generation, at least one.
        reference: what fitness is relative to, for the label.
        path: the image; its ending gives the format.
    """
    # Takes a second to import: only where it is used. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    steps = [record.evaluations for record in history]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label=reference)
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
    axes.plot(
        steps, [record.best for record in history], color=INK, linewidth=2, marker=".", label="best"
    )
    axes.set_xlabel("evaluations")
    axes.set_ylabel(f"throughput ÷ {reference}")
    axes.set_ylim(bottom=min(0.7, min(record.median for record in history)))
    axes.grid(alpha=0.2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    axes.set_title(f"{len(history)} generations, {history[-1].seconds:.0f} s of search", loc="left")
    write_figure(figure, path)
