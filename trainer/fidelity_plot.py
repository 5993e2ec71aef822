"""The picture of a comparison between virtual and real cores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from envs.fidelity import Fidelity, Point
from trainer.figure_file import write_figure
from trainer.plot import INK, MUTED

FURTHEST_OFF = 2
"""Number of the policies with the largest disagreement that have names in the picture."""


def plot_fidelity(found: Fidelity, cores: int, reference: str, path: Path) -> None:
    """Draw each policy's throughput on real cores over that on virtual ones.

    Args:
        found: the measurements.
        cores: of either machine, for the labels.
        reference: what throughput is relative to, for the labels.
        path: the image; its ending gives the format.
    """
    # Takes a second to import, so only here. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    highest = 1.05 * max(max(point.real, point.virtual) for point in found.points)
    axes.plot([0, highest], [0, highest], color=MUTED, linewidth=0.8, linestyle=":")
    axes.errorbar(
        [point.virtual for point in found.points],
        [point.real for point in found.points],
        yerr=[point.real_error for point in found.points],
        fmt="o",
        color=INK,
        ecolor=MUTED,
        markersize=4,
    )
    for point in _named(found.points):
        right = point.virtual > highest / 2
        axes.annotate(
            point.name,
            (point.virtual, point.real),
            xytext=(-6 if right else 6, 4),
            textcoords="offset points",
            horizontalalignment="right" if right else "left",
        )
    axes.set_xlim(0, highest)
    axes.set_ylim(0, highest)
    axes.set_aspect("equal")
    axes.set_xlabel(f"{cores} virtual cores: throughput ÷ {reference}")
    axes.set_ylabel(f"{cores} real cores: throughput ÷ {reference}")
    axes.grid(alpha=0.2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(
        f"{len(found.points)} policies: Spearman {found.spearman:.2f}, regret {found.regret:.1%}",
        loc="left",
    )
    write_figure(figure, path)


def _named(points: Sequence[Point]) -> set[Point]:
    """Return the points with a name: the best of each machine, and the largest disagreements."""
    best = {
        max(points, key=lambda point: point.real),
        max(points, key=lambda point: point.virtual),
    }
    off = sorted(points, key=lambda point: -abs(point.virtual / point.real - 1))
    return best | set(off[:FURTHEST_OFF])
