"""The statistics as tables and text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from statistics import median

from rich.table import Table

from traces.output import counted, counts_table
from traces.spelling import visible
from traces.statistics.days import Day
from traces.statistics.hours import Hour
from traces.statistics.measure import TraceStatistics
from traces.statistics.prediction import LARGE_ERROR, Prediction
from traces.statistics.type_columns import TypeColumns

UNKNOWN = "-"


def heading(found: TraceStatistics) -> str:
    """Return the trace's name, marked if the trace is synthetic."""
    name = visible(found.name)
    return f"{name} (synthetic)" if found.synthetic else name


def stats_table(found: TraceStatistics) -> Table:
    """Return a row for each day: requests by type, the peak hour, and whether the day is valid."""
    title = f"{heading(found)}: requests by day (UTC)"
    columns = TypeColumns.of(found)
    table = counts_table(
        title,
        "day",
        *columns.names,
        "requests",
        "peak hour",
        "its conflict rate",
        "invalid because",
    )
    for day in found.days:
        peak = (UNKNOWN, UNKNOWN) if day.total == 0 else (clock(day.peak), rate(day.peak))
        table.add_row(day_text(day.date), *columns.cells(*day.hours), *peak, day.invalid)
    return table


def hours_table(found: TraceStatistics, day: Day) -> Table:
    """Return a row for each hour of one day."""
    invalid = f"; invalid: {day.invalid}" if day.invalid else ""
    title = f"{heading(found)}: {day_text(day.date)} (UTC){invalid}"
    columns = TypeColumns.of(found)
    table = counts_table(title, "hour", *columns.names, "requests", "conflict rate")
    for hour in day.hours:
        table.add_row(clock(hour), *columns.cells(hour), rate(hour))
    return table


def peaks_table(found: TraceStatistics) -> Table:
    """Return a row for the peak hour of each valid day."""
    title = f"{heading(found)}: peak hour of each valid day (UTC)"
    columns = TypeColumns.of(found)
    table = counts_table(title, "day", "hour", *columns.names, "requests", "conflict rate")
    for day in found.valid_days:
        peak = day.peak
        table.add_row(day_text(day.date), clock(peak), *columns.cells(peak), rate(peak))
    return table


def is_listed(prediction: Prediction) -> bool:
    """Whether a prediction has a row in the table."""
    return prediction.error > LARGE_ERROR or prediction.retrained


def predict_table(found: TraceStatistics, predictions: Sequence[Prediction]) -> Table:
    """Return a row for each day with a large error, and each after a retraining."""
    title = f"{heading(found)}: errors above {LARGE_ERROR:.0%}, and retrainings"
    table = counts_table(title, "day", "predicted", "actual", "error", "", "trained for", "")
    for prediction in predictions:
        large = prediction.error > LARGE_ERROR
        if is_listed(prediction):
            table.add_row(
                day_text(prediction.date),
                f"{prediction.predicted:.1%}",
                f"{prediction.actual:.1%}",
                f"{prediction.error:.1%}",
                "large" if large else "",
                f"{prediction.trained_for:.1%}",
                "retrained" if prediction.retrained else "",
            )
    return table


def stats_words(found: TraceStatistics) -> str:
    """Return a summary of the days."""
    days = found.valid_days
    lines = [days_words(found)]
    if days:
        requests = sum(day.total for day in days)
        busiest = max((day for day in days), key=lambda day: day.peak.total)
        lines.append(
            f"{counted(requests, 'request')} on valid days, "
            f"{median(day.total for day in days):,.0f} on the median day; "
            f"busiest hour {busiest.peak.begin:%Y-%m-%d %H:%M}: "
            f"{counted(busiest.peak.total, 'request')}, conflict rate {rate(busiest.peak)}"
        )
    return "\n".join(lines)


def days_words(found: TraceStatistics) -> str:
    """Return the number of days, and the reason of each invalid one."""
    invalid = [day for day in found.days if day.invalid is not None]
    lines = [f"{counted(len(found.days), 'day')}, {len(found.valid_days)} of them valid"]
    lines += [f"  invalid: {day_text(day.date)}: {day.invalid}" for day in invalid]
    return "\n".join(lines)


def predict_words(predictions: Sequence[Prediction], threshold: float) -> str:
    """Return a summary of the predictions."""
    errors = sorted(prediction.error for prediction in predictions)
    large = sum(error > LARGE_ERROR for error in errors)
    retrainings = sum(prediction.retrained for prediction in predictions)
    return (
        f"{counted(len(predictions), 'day')} predicted: median error {median(errors):.1%}, "
        f"maximum {errors[-1]:.1%}; above {LARGE_ERROR:.0%} on {counted(large, 'day')}\n"
        f"{counted(retrainings, 'retraining')} at a threshold of {threshold:.0%}"
    )


def day_text(day: date) -> str:
    """Return a date with its weekday."""
    return f"{day:%a %Y-%m-%d}"


def clock(hour: Hour) -> str:
    """Return when an hour begins."""
    return f"{hour.begin:%H:%M}"


def rate(hour: Hour) -> str:
    """Return an hour's conflict rate."""
    return UNKNOWN if hour.conflict_rate is None else f"{hour.conflict_rate:.1%}"
