"""The picture of a comparison: throughput, and the parts of the workers' time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envs import Comparison
from traces.spelling import visible
from trainer.report.figures import PARTS, comparison_view

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, BASELINE = "#1f4e79", "#9bb3c9"
COLOURS = {
    "useful": "#1f9d80",
    "waiting": "#d9d9d9",
    "wasted": "#b3261e",
    "backoff": "#c8781e",
    "commit": "#9bb3c9",
}
"""Colours of the parts of the time (`trainer.report.figures.PARTS`)."""


def comparison_figure(comparison: Comparison) -> Figure:
    """Return two panels with a bar per policy: throughput with quartiles, and shares of the time.

    The learned policy is first, and the others follow, best first. Those that did not keep the
    workload's mix are last, with a star.

    Raises:
        ValueError: nothing was measured.
    """
    # Takes a second to import, so only here. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    view = comparison_view(comparison)
    if view is None:
        raise ValueError("the comparison is empty: no policy finished a run")
    rows, names = view.rows, [visible(row.name) for row in view.rows]
    figure = Figure(figsize=(11, 1.7 + 0.36 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    speed, time = figure.subplots(1, 2, sharey=True)
    unit = max(row.throughput / row.share for row in rows if row.share) / 1000 if rows else 1.0
    speed.barh(
        names,
        [row.share * unit for row in rows],
        xerr=[
            [(row.share - row.low) * unit for row in rows],
            [(row.high - row.share) * unit for row in rows],
        ],
        color=[INK if row.learned else BASELINE for row in rows],
        height=0.7,
    )
    speed.set_xlabel("thousand commits a second")
    speed.set_title(f"Throughput on {view.machine}", loc="left", fontsize=11)
    ends = [0.0] * len(rows)
    for part, words in PARTS.items():
        shares = [dict(row.parts).get(part, 0.0) for row in rows]
        time.barh(names, shares, left=ends, color=COLOURS[part], height=0.7, label=words)
        ends = [end + share for end, share in zip(ends, shares, strict=True)]
    time.set_xlim(0, 1)
    time.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    time.set_title("Where the time went", loc="left", fontsize=11)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    speed.invert_yaxis()
    for axes in (speed, time):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    return figure
