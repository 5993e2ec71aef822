"""The picture of a run that switches policies: throughput by interval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from envs import Result
from envs.hot_switch import split
from traces.figure_texts import legend_label
from trainer.figure_file import write_figure
from trainer.plot import INK, MUTED, SERIES


def plot_switch(result: Result, policies: Sequence[str], title: str, path: Path) -> None:
    """Draw throughput by interval, in total and by type, with the policies' names.

    Args:
        result: with its intervals.
        policies: in the order in which they ran.
        title: of the picture.
        path: the image; its ending gives the format.

    Raises:
        WritingError: it can't be written.
    """
    # Takes a second to import, so only here. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    edges = [interval.start_s for interval in result.intervals]
    last = result.intervals[-1]
    edges.append(last.start_s + last.seconds)
    for kind, colour in zip(result.types, SERIES[1:], strict=False):
        rates = [interval.commits[kind] / interval.seconds / 1000 for interval in result.intervals]
        axes.stairs(
            rates, edges, baseline=None, color=colour, linewidth=1, label=legend_label(kind)
        )
    rates = [interval.throughput / 1000 for interval in result.intervals]
    axes.stairs(rates, edges, baseline=None, color=INK, linewidth=2, label="all")
    stretches = split(result.intervals, [switch.at_s for switch in result.switches])
    for name, stretch in zip(policies, stretches, strict=False):
        if stretch:
            axes.annotate(
                Path(name).stem,
                (stretch[0].start_s, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(4, -4),
                textcoords="offset points",
                va="top",
            )
    for switch in result.switches:
        axes.axvline(switch.at_s, color=MUTED, linestyle="--", linewidth=1)
    axes.set_ylim(0, 1.15 * max([*rates, 1e-3]))
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel("virtual seconds" if result.machine.kind == "virtual" else "seconds")
    axes.set_ylabel("K commits a second")
    axes.set_title(title, loc="left", fontsize=10)
    figure.legend(
        frameon=False, loc="outside lower center", ncols=len(result.types) + 1, fontsize=8
    )
    axes.spines[["top", "right"]].set_visible(False)
    write_figure(figure, path)
