"""Draws a calendar of requests and one of conflict rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.statistics.days import Day
from traces.statistics.hours import HOURS
from traces.statistics.measure import TraceStatistics
from traces.statistics.pictures.figure import (
    SATURDAY,
    WARNING,
    count_text,
    label_days,
    mark_synthetic,
    new_figure,
    percent_text,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOTHING = "#d9d9d9"
WEEKEND = "#222222"
STRIP_BOTTOM, STRIP_HEIGHT = 1.012, 0.018
"""Position of the marks of weekends above the map, in its heights."""
INVALID_HEIGHT = 1.055
"""Position of the marks of invalid days above the map, in its heights."""
PEAKS_MAX = 120
"""The maximum number of days for which marks of peak hours are legible."""
INVALID: dict[str, Any] = {"linestyle": "none", "marker": "v", "markersize": 5, "color": WARNING}
BESIDE: dict[str, Any] = {"clip_on": False, "in_layout": False}
"""Properties of marks outside of the map, below its title."""
PEAK: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 3.5,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "markeredgewidth": 0.6,
}


def draw_calendar(found: TraceStatistics) -> Figure:
    """Draw a column for each day and a row for each hour, colored by requests and conflict rate."""
    figure = new_figure(12, 8.5)
    upper, lower = figure.subplots(2, 1, sharex=True)
    days = found.days
    requests = np.array([[hour.total or np.nan for hour in day.hours] for day in days])
    rates = np.array(
        [
            [
                hour.conflict_rate if hour.total and hour.conflict_rate is not None else np.nan
                for hour in day.hours
            ]
            for day in days
        ]
    )
    _draw_map(upper, requests, "viridis", count_text, "requests per hour")
    _draw_map(lower, rates, "magma", percent_text, "conflict rate")
    for axes in (upper, lower):
        _mark_weekends(axes, days)
        if len(days) <= PEAKS_MAX:
            _mark_peaks(axes, days)
    _mark_invalid(upper, days)
    upper.set_title("Requests", loc="left", fontsize=11, pad=20)
    lower.set_title(
        "Conflict rate: the share of requests that conflict with another user's in the same "
        f"{found.window_minutes} minutes",
        loc="left",
        fontsize=11,
        pad=12,
    )
    label_days(lower, [day.date for day in days])
    _explain(figure, days)
    first, last = days[0].date, days[-1].date
    figure.suptitle(
        f"{found.name}: {first} to {last}, hour by hour (UTC)", x=0.01, ha="left", fontsize=13
    )
    if found.synthetic:
        mark_synthetic(figure)
    return figure


def _draw_map(
    axes: Axes, values: np.ndarray, colours: str, text: Callable[[float, float], str], label: str
) -> None:
    from matplotlib import colormaps
    from matplotlib.ticker import FuncFormatter

    shown = axes.imshow(
        np.ma.masked_invalid(values.T),
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=colormaps[colours].with_extremes(bad=NOTHING),
        vmin=0,
        extent=(-0.5, len(values) - 0.5, 0, HOURS),
    )
    axes.figure.colorbar(
        shown, ax=axes, label=label, format=FuncFormatter(text), pad=0.01, aspect=25
    )
    axes.set_yticks(range(0, HOURS + 1, 6), [f"{hour:02}:00" for hour in range(0, HOURS + 1, 6)])
    axes.set_yticks(range(HOURS + 1), minor=True)
    axes.set_ylabel("hour of the day")
    axes.spines[:].set_visible(False)
    axes.autoscale(False)


def _mark_weekends(axes: Axes, days: Sequence[Day]) -> None:
    weekends = [at for at, day in enumerate(days) if day.date.weekday() >= SATURDAY]
    axes.bar(
        weekends,
        STRIP_HEIGHT,
        1.0,
        STRIP_BOTTOM,
        color=WEEKEND,
        transform=axes.get_xaxis_transform(),
        **BESIDE,
    )


def _mark_invalid(axes: Axes, days: Sequence[Day]) -> None:
    invalid = [at for at, day in enumerate(days) if day.invalid is not None]
    axes.plot(
        invalid,
        [INVALID_HEIGHT] * len(invalid),
        **INVALID,
        transform=axes.get_xaxis_transform(),
        **BESIDE,
    )


def _mark_peaks(axes: Axes, days: Sequence[Day]) -> None:
    peaks = [(at, day.peak.begin.hour + 0.5) for at, day in enumerate(days) if not day.invalid]
    axes.plot([at for at, _ in peaks], [hour for _, hour in peaks], **PEAK)


def _explain(figure: Figure, days: Sequence[Day]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    signs: list[Artist] = [
        Patch(color=WEEKEND, label="weekend"),
        Patch(color=NOTHING, label="no requests"),
    ]
    if any(day.invalid for day in days):
        signs.append(Line2D([], [], **INVALID, label="invalid day"))
    if len(days) <= PEAKS_MAX:
        signs.append(Line2D([], [], **PEAK, label="peak hour"))
    figure.legend(
        handles=signs, loc="outside lower left", ncols=len(signs), frameon=False, fontsize=9
    )
