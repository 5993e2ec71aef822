"""Draws the predictions: figure 11 of Wang et al., OSDI 2021, and the retrainings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from statistics import median
from typing import TYPE_CHECKING

from traces.output import counted
from traces.statistics.measure import TraceStatistics, days_between
from traces.statistics.pictures.figure import (
    INK,
    MUTED,
    WARNING,
    label_days,
    mark_synthetic,
    new_figure,
    percent_text,
)
from traces.statistics.prediction import LARGE_ERROR, Prediction, distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADROOM = 1.15
"""The end of an axis above the largest finite value; infinite errors are drawn there."""


def draw_forecast(
    found: TraceStatistics, predictions: Sequence[Prediction], threshold: float
) -> Figure:
    """Draw the peak hours' conflict rates and the trained rates, each day's error, and their CDF.

    Args:
        found: the statistics of the trace.
        predictions: at least one prediction.
        threshold: the threshold of the retrainings.
    """
    figure = new_figure(12, 7.5)
    grid = figure.add_gridspec(2, 3)
    above = figure.add_subplot(grid[0, :])
    left = figure.add_subplot(grid[1, :2])
    right = figure.add_subplot(grid[1, 2])
    days = days_between(found.valid_days[0].date, found.valid_days[-1].date)
    _draw_rates(above, predictions, days, threshold)
    _draw_errors(left, predictions, days)
    _draw_distribution(right, [prediction.error for prediction in predictions])
    label_days(above, days)
    label_days(left, days)
    for axes in (above, left, right):
        axes.grid(alpha=0.2)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        f"{found.name}: peak hours predicted from the day before, {len(predictions)} days",
        x=0.01,
        ha="left",
        fontsize=13,
    )
    if found.synthetic:
        mark_synthetic(figure)
    return figure


def _draw_rates(
    axes: Axes, predictions: Sequence[Prediction], days: Sequence[date], threshold: float
) -> None:
    from matplotlib.ticker import FuncFormatter

    at = _positions(predictions, days)
    axes.plot(
        at,
        [prediction.actual for prediction in predictions],
        color=MUTED,
        marker=".",
        markersize=4,
        linewidth=1,
        label="conflict rate of the day's peak hour",
    )
    axes.step(
        at,
        [prediction.trained_for for prediction in predictions],
        where="mid",
        color=INK,
        linewidth=1.6,
        label="conflict rate that the day's policy is trained for",
    )
    retrained = [prediction for prediction in predictions if prediction.retrained]
    axes.plot(
        _positions(retrained, days),
        [prediction.trained_for for prediction in retrained],
        linestyle="none",
        marker="D",
        markersize=5,
        color=INK,
        label=f"retrained: {len(retrained)} times",
    )
    highest = max(max(prediction.actual, prediction.trained_for) for prediction in predictions)
    axes.set_ylim(0, HEADROOM * highest or 1.0)
    axes.yaxis.set_major_formatter(FuncFormatter(percent_text))
    axes.set_ylabel("conflict rate")
    axes.set_title(
        f"Retrained if the prediction differs by {percent_text(threshold)} from the trained rate",
        loc="left",
        fontsize=11,
    )
    axes.legend(loc="lower left", ncols=3, frameon=False, fontsize=9)


def _draw_errors(axes: Axes, predictions: Sequence[Prediction], days: Sequence[date]) -> None:
    from matplotlib.ticker import FuncFormatter

    errors = [prediction.error for prediction in predictions]
    top = HEADROOM * max([error for error in errors if math.isfinite(error)] + [LARGE_ERROR])
    large = sum(error > LARGE_ERROR for error in errors)
    axes.bar(
        _positions(predictions, days),
        [min(error, top) for error in errors],
        width=0.9,
        color=[WARNING if error > LARGE_ERROR else INK for error in errors],
    )
    axes.axhline(LARGE_ERROR, color=WARNING, linewidth=0.8, linestyle=":")
    axes.set_ylim(0, top)
    axes.yaxis.set_major_formatter(FuncFormatter(percent_text))
    axes.set_ylabel("error of the prediction")
    axes.set_title(
        f"(a) Error by day: above {LARGE_ERROR:.0%} on {counted(large, 'day')}",
        loc="left",
        fontsize=11,
    )


def _draw_distribution(axes: Axes, errors: Sequence[float]) -> None:
    from matplotlib.ticker import FuncFormatter

    finite = [(error, share) for error, share in distribution(errors) if math.isfinite(error)]
    axes.step(
        [0.0, *(error for error, _ in finite)],
        [0.0, *(share for _, share in finite)],
        where="post",
        color=INK,
        linewidth=1.6,
    )
    axes.axvline(LARGE_ERROR, color=WARNING, linewidth=0.8, linestyle=":")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.01)
    axes.xaxis.set_major_formatter(FuncFormatter(percent_text))
    axes.yaxis.set_major_formatter(FuncFormatter(percent_text))
    axes.set_xlabel("error of the prediction")
    axes.set_ylabel("share of days with at most this error")
    axes.set_title(f"(b) CDF: median {median(errors):.1%}", loc="left", fontsize=11)


def _positions(predictions: Sequence[Prediction], days: Sequence[date]) -> list[int]:
    return [(prediction.date - days[0]).days for prediction in predictions]
