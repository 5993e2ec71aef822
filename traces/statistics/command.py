"""`heddle trace stats`, `peaks` and `predict`: what a trace's hours and days are like."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from traces.command import one_message
from traces.errors import TraceError
from traces.output import bar
from traces.reader import open_trace
from traces.result_file import with_format, with_output
from traces.statistics.days import Day
from traces.statistics.document import peaks_document, predict_document, stats_document
from traces.statistics.measure import TraceStatistics, days_between, measure
from traces.statistics.pictures.calendar import draw_calendar
from traces.statistics.pictures.figure import ENDINGS
from traces.statistics.pictures.forecast import draw_forecast
from traces.statistics.prediction import RETRAINING_THRESHOLD, predictions_of
from traces.statistics.results import Destination, Results
from traces.statistics.tables import (
    days_words,
    hours_table,
    is_listed,
    peaks_table,
    predict_table,
    predict_words,
    stats_table,
    stats_words,
)
from traces.statistics.windows import WINDOW_MINUTES, WINDOWS_MINUTES

Command = TypeVar("Command", bound=Callable[..., Any])

STATS_EXAMPLES = """
\b
Examples:
  heddle trace stats shop
  heddle trace stats shop --plot shop.png output=shop.json
  heddle trace stats shop --day 2019-11-29
"""

PEAKS_EXAMPLES = """
\b
Examples:
  heddle trace peaks shop
  heddle trace peaks shop --window 10 --type cart
"""

PREDICT_EXAMPLES = """
\b
Examples:
  heddle trace predict shop --plot figure-11.png
  heddle trace predict shop --threshold 0.3
"""


def _measuring(command: Command) -> Command:
    """The argument and the options of every command here."""
    for option in reversed(
        (
            click.argument("trace", type=click.Path(path_type=Path)),
            click.option(
                "--window",
                type=click.Choice([str(n) for n in WINDOWS_MINUTES]),
                default=str(WINDOW_MINUTES),
                show_default=True,
                metavar="MINUTES",
                help="Two transactions can be in conflict within so many minutes; divides 60.",
            ),
            click.option(
                "--type",
                "types",
                multiple=True,
                metavar="NAME",
                help="Count this transaction type only; may be repeated. All by default.",
            ),
            with_output,
            with_format,
            # What output= was called before.
            click.option("--json", "json_file", type=click.Path(path_type=Path), hidden=True),
        )
    ):
        command = option(command)
    return command


def _plotting(what: str) -> Callable[[Command], Command]:
    """The option `--plot`."""
    return click.option(
        "--plot",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Draw {what} ({', '.join(ENDINGS)}).",
    )


@click.command(epilog=STATS_EXAMPLES)
@_measuring
@_plotting("a calendar of requests and conflict rates, an hour a cell")
@click.option(
    "--day", type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD", help="Show its hours instead."
)
@one_message
def stats(
    trace: Path,
    window: str,
    types: tuple[str, ...],
    words: tuple[str, ...],
    output: Path | None,
    form: str,
    json_file: Path | None,
    plot: Path | None,
    day: datetime | None,
) -> None:
    """Requests by type, day by day, with each day's peak hour and its conflict rate.

    Two transactions are in conflict if they are of different users, access the same row within
    the same minutes of --window, and at least one writes it.
    """
    destination = Destination.of(words, output, json_file, form=form, plot=plot)
    found = _measure(trace, window, types)
    table = stats_table(found) if day is None else hours_table(found, _day_of(found, day.date()))
    document = stats_document(found)
    rows = [
        {"date": one["date"], "invalid": one["invalid"], **hour}
        for one in document["days"]
        for hour in one["hours"]
    ]
    destination.put(
        Results(
            "statistics", document, rows, table, stats_words(found), lambda: draw_calendar(found)
        )
    )


@click.command(epilog=PEAKS_EXAMPLES)
@_measuring
@one_message
def peaks(
    trace: Path,
    window: str,
    types: tuple[str, ...],
    words: tuple[str, ...],
    output: Path | None,
    form: str,
    json_file: Path | None,
) -> None:
    """The peak hour of each day: the hour with most requests. Invalid days are left out.

    A day is invalid if it has no requests, fewer than half of what is usual, or lacks an hour that
    usually has 20 requests or more. Usual is the median of the four weeks around it.
    """
    destination = Destination.of(words, output, json_file, form=form)
    found = _measure(trace, window, types)
    document = peaks_document(found)
    table = peaks_table(found)
    destination.put(Results("peaks", document, document["peaks"], table, days_words(found)))


@click.command(epilog=PREDICT_EXAMPLES)
@_measuring
@_plotting("the error by day and its distribution, and the retrainings")
@click.option(
    "--threshold",
    type=click.FloatRange(min=0, max=100, min_open=True),
    default=RETRAINING_THRESHOLD,
    show_default=True,
    help="Retrain when the predicted conflict rate is this far, relatively, from the trained one.",
)
@one_message
def predict(
    trace: Path,
    window: str,
    types: tuple[str, ...],
    words: tuple[str, ...],
    output: Path | None,
    form: str,
    json_file: Path | None,
    plot: Path | None,
    threshold: float,
) -> None:
    """Predict each day's peak hour to be like the day before's, and say when to retrain.

    The error of a prediction is abs((tomorrow - today) / today) of the conflict rate.
    """
    destination = Destination.of(words, output, json_file, form=form, plot=plot)
    found = _measure(trace, window, types)
    predictions = predictions_of(_predictable(found), threshold)
    document = predict_document(found, predictions, threshold)
    destination.put(
        Results(
            "predictions",
            document,
            document["predictions"],
            predict_table(found, predictions) if any(map(is_listed, predictions)) else None,
            f"{days_words(found)}\n{predict_words(predictions, threshold)}",
            lambda: draw_forecast(found, predictions, threshold),
        )
    )


def _measure(folder: Path, window: str, types: tuple[str, ...]) -> TraceStatistics:
    trace = open_trace(folder)
    days = len(days_between(trace.days[0], trace.days[-1])) if trace.days else 0
    with bar("measuring", days) as shown:
        return measure(trace, int(window), types or None, lambda done, day: shown.update(done, day))


def _day_of(found: TraceStatistics, wanted: date) -> Day:
    for day in found.days:
        if day.date == wanted:
            return day
    raise TraceError(
        f"--day {wanted}: the trace has the days from {found.days[0].date} to {found.days[-1].date}"
    )


def _predictable(found: TraceStatistics) -> tuple[Day, ...]:
    """The valid days, if something can be predicted from them."""
    days = found.valid_days
    for day in days:
        if day.peak.conflict_rate is None:
            raise TraceError(
                f"{found.name}: {day.date}: no accesses are known of its peak hour's transactions, "
                "so there is no conflict rate to predict"
            )
    if len(days) < 2:
        raise TraceError(
            f"{found.name}: has {len(days)} valid days of {len(found.days)}, and it takes two to "
            "predict one; see heddle trace stats"
        )
    if not any(day.peak.conflict_rate for day in days):
        raise TraceError(
            f"{found.name}: no two transactions of a peak hour are in conflict, so there is no "
            "conflict rate to predict; import accesses that write and the users they are of, "
            "or give a longer --window"
        )
    return days
