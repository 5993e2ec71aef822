"""`heddle trace stats`: loads, conflict rates, peak hours and their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path

import click
from click.core import ParameterSource

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

EXAMPLES = """
\b
Examples:
  heddle trace stats shop
  heddle trace stats shop --plot shop.png output=shop.json
  heddle trace stats shop --day 2019-11-29
  heddle trace stats shop --peaks --window 10 --type cart
  heddle trace stats shop --predict --threshold 0.3 --plot figure-11.png
"""


@click.command(epilog=EXAMPLES)
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--day",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="List the hours of this day.",
)
@click.option("--peaks", is_flag=True, help="List the peak hour of each valid day.")
@click.option(
    "--predict", is_flag=True, help="Predict each peak hour from the previous valid day's."
)
@click.option(
    "--threshold",
    type=click.FloatRange(min=0, max=100, min_open=True),
    default=RETRAINING_THRESHOLD,
    show_default=True,
    metavar="CHANGE",
    help="Retrain at this relative change of the conflict rate (--predict).",
)
@click.option(
    "--window",
    type=click.Choice([str(n) for n in WINDOWS_MINUTES]),
    default=str(WINDOW_MINUTES),
    show_default=True,
    metavar="MINUTES",
    help="Set the window of conflicts; must divide 60.",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="NAME",
    help="Count only this transaction type; may be repeated.",
)
@with_output
@with_format
# The former name of output=.
@click.option("--json", "json_file", type=click.Path(path_type=Path), hidden=True)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Draw a calendar or the predictions ({', '.join(ENDINGS)}).",
)
@one_message
def stats(
    trace: Path,
    day: datetime | None,
    peaks: bool,
    predict: bool,
    threshold: float,
    window: str,
    types: tuple[str, ...],
    words: tuple[str, ...],
    output: Path | None,
    form: str,
    json_file: Path | None,
    plot: Path | None,
) -> None:
    """Count requests by type, and report each day's peak hour and its conflict rate.

    The table has a row for each day; with --day, for each hour of that day; with --peaks, for the
    peak hour of each valid day. --predict takes the conflict rate of each valid day's peak hour as
    the prediction for the next one, and prints the errors, abs((tomorrow - today) / today), and
    when to retrain.

    Two transactions conflict if they are of different users, access the same row within the same
    --window, and at least one writes it.

    A day is invalid if it has no requests, has fewer than half of the usual number, or lacks an
    hour that usually has 20 or more. The usual number is the median of the four weeks around it.
    """
    selected = {"--day": day is not None, "--peaks": peaks, "--predict": predict}
    _refuse_contradictions([name for name, given in selected.items() if given], plot)
    destination = Destination.of(words, output, json_file, form=form, plot=plot)
    found = _measure(trace, window, types)
    if peaks:
        results = _peak_results(found)
    elif predict:
        results = _prediction_results(found, threshold)
    else:
        results = _hour_results(found, day.date() if day else None)
    destination.put(results)


def _refuse_contradictions(selected: Sequence[str], plot: Path | None) -> None:
    """Check that the options select one kind of results.

    Args:
        selected: the options among `--day`, `--peaks` and `--predict` that were given.
        plot: the value of `--plot`.

    Raises:
        TraceError: two options contradict each other.
    """
    if len(selected) > 1:
        raise TraceError(f"{' and '.join(selected)}: select different results; give one of them")
    source = click.get_current_context().get_parameter_source("threshold")
    if source is not ParameterSource.DEFAULT and "--predict" not in selected:
        instead = f" instead of {selected[0]}" if selected else ""
        raise TraceError(f"--threshold: applies to predictions only; give --predict{instead}")
    if plot is not None and "--peaks" in selected:
        raise TraceError(
            f"--plot {plot}: --peaks has no picture; leave --peaks out, or give --predict instead"
        )


def _hour_results(found: TraceStatistics, day: date | None) -> Results:
    """All hours; the table has a row for each day, or for each hour of `day`."""
    document = stats_document(found)
    rows = [
        {"date": entry["date"], "invalid": entry["invalid"], **hour}
        for entry in document["days"]
        for hour in entry["hours"]
    ]
    table = stats_table(found) if day is None else hours_table(found, _day_of(found, day))
    return Results(
        "statistics", document, rows, table, stats_words(found), lambda: draw_calendar(found)
    )


def _peak_results(found: TraceStatistics) -> Results:
    """The peak hours of the valid days."""
    document = peaks_document(found)
    return Results("peaks", document, document["peaks"], peaks_table(found), days_words(found))


def _prediction_results(found: TraceStatistics, threshold: float) -> Results:
    """The predictions, their errors, and the retrainings at a threshold."""
    predictions = predictions_of(_predictable(found), threshold)
    document = predict_document(found, predictions, threshold)
    return Results(
        "predictions",
        document,
        document["predictions"],
        predict_table(found, predictions) if any(map(is_listed, predictions)) else None,
        f"{days_words(found)}\n{predict_words(predictions, threshold)}",
        lambda: draw_forecast(found, predictions, threshold),
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
    """Return the valid days, if they allow a prediction."""
    days = found.valid_days
    for day in days:
        if day.peak.conflict_rate is None:
            raise TraceError(
                f"{found.name}: {day.date}: the accesses of its peak hour are unknown, so there is "
                "no conflict rate to predict"
            )
    if len(days) < 2:
        raise TraceError(
            f"{found.name}: {len(days)} of {len(found.days)} days are valid, but a prediction "
            "needs two; see heddle trace stats"
        )
    if not any(day.peak.conflict_rate for day in days):
        raise TraceError(
            f"{found.name}: no two transactions of a peak hour conflict, so there is no conflict "
            "rate to predict; import writes and their users, or give a longer --window"
        )
    return days
