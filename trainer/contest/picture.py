"""The curves of a contest: the incumbent over evaluations, median and quartiles of the runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trainer.contest.standing import CaseStanding, MethodStanding
from trainer.contest.statistics import Curve, Spread
from trainer.figure_file import write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#1f4e79", "#c8781e", "#1f9d80", "#8a3fd1", "#b3261e", "#4a4a4a", "#b5838d")
STYLES = ("-", "--", ":")
STEPS = 200

LINE = 120
"""Number of characters per line of the legend, the sample of each line counted as ten."""


def plot_case(case: CaseStanding, words: str, path: Path) -> None:
    """Draw `case_figure` into an image; the suffix determines the format.

    Raises:
        WritingError: it can't be written.
    """
    write_figure(case_figure(case, words), path)


def case_figure(case: CaseStanding, words: str) -> Figure:
    """Draw a workload: on the left as the searches measured it, on the right measured again.

    If methods have different numbers of finished runs, the labels state the number. Each curve ends
    with the evaluations that all runs of its method have.

    Args:
        case: the results.
        words: the machine, for the title.
    """
    # Slow to import, so only where it is used. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    counts = sorted({len(method.runs) for method in case.methods})
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, kind in ((left, "trained_curve"), (right, "fresh_curve")):
        for number, method in enumerate(case.methods):
            runs = f" ({len(method.runs)} run{'' if len(method.runs) == 1 else 's'})"
            label = method.method + (runs if len(counts) > 1 else "")
            style = STYLES[number // len(COLORS) % len(STYLES)]
            _draw(axes, method, kind, COLORS[number % len(COLORS)], style, label)
        axes.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
        axes.set_xlabel("evaluations")
        axes.grid(alpha=0.2)
        axes.spines[["top", "right"]].set_visible(False)
    left.set_ylabel(f"incumbent: {case.objective.words} relative to silo_tuned")
    left.set_title("measured by the search, less one standard error", loc="left", fontsize=10)
    right.set_title("the same tables, measured again", loc="left", fontsize=10)
    handles, labels = left.get_legend_handles_labels()
    # Below the plots, because curves may start low or high.
    columns = max(1, min(len(labels), LINE // (10 + max(map(len, labels), default=0))))
    figure.legend(
        handles, labels, frameon=False, loc="outside lower left", ncols=columns, fontsize=9
    )
    shown = "–".join(map(str, (counts[0], counts[-1]) if len(counts) > 1 else counts))
    figure.suptitle(f"{case.case}, {words}: median and quartiles of {shown} runs", fontsize=11)
    return figure


def _draw(
    axes: object, method: MethodStanding, kind: str, color: str, style: str, label: str
) -> None:
    until = min(run.evaluations for run in method.runs)
    curves: list[Curve] = [getattr(run, kind) for run in method.runs]
    # The median needs a first generation of every run.
    begun = max((curve.steps[0][0] for curve in curves if curve.steps), default=0.0)
    spent = [begun + (until - begun) * step / STEPS for step in range(STEPS + 1)]
    spreads = [Spread.of([curve.at(x) for curve in curves]) for x in spent]
    low, high = [spread.low for spread in spreads], [spread.high for spread in spreads]
    axes.fill_between(spent, low, high, step="post", color=color, alpha=0.15, linewidth=0)  # type: ignore[attr-defined]
    axes.step(  # type: ignore[attr-defined]
        spent,
        [spread.median for spread in spreads],
        where="post",
        color=color,
        linestyle=style,
        label=label,
    )
