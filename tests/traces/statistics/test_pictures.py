from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from traces.errors import TraceError
from traces.statistics.days import Day, validated
from traces.statistics.hours import Hour
from traces.statistics.measure import TraceStatistics
from traces.statistics.pictures.calendar import draw_calendar
from traces.statistics.pictures.figure import write_figure
from traces.statistics.pictures.forecast import draw_forecast
from traces.statistics.prediction import predictions_of

FIRST = date(2019, 10, 7)


def found(days: int, rate: float | None = 0.4, synthetic: bool = True) -> TraceStatistics:
    """Return statistics of a number of days, the third of which is empty."""
    measured = []
    for number in range(days):
        when = FIRST + timedelta(days=number)
        midnight = datetime(when.year, when.month, when.day, tzinfo=UTC)
        hours = tuple(
            Hour(
                midnight + timedelta(hours=hour),
                {} if number == 2 else {"cart": 100 + hour},
                None if number == 2 else rate,
            )
            for hour in range(24)
        )
        measured.append(Day(when, hours))
    return TraceStatistics("shop", synthetic, 5, validated(measured))


def texts(figure: Figure) -> Iterator[str]:
    """Yield the texts of a picture."""
    return (text.get_text() for text in figure.findobj(Text))


def with_peak_rates(rates: list[float]) -> TraceStatistics:
    """Return statistics of days with these conflict rates."""
    some = found(len(rates) + 1)
    days = [day for day in some.days if day.invalid is None]
    return replace(
        some,
        days=tuple(
            replace(day, hours=tuple(replace(hour, conflict_rate=rate) for hour in day.hours))
            for day, rate in zip(days, rates, strict=True)
        ),
    )


@pytest.mark.parametrize(
    "days", [1, 2, *(pytest.param(days, marks=pytest.mark.full) for days in (10, 40)), 203]
)
@pytest.mark.slow
def test_any_number_of_days_can_be_drawn(days: int, tmp_path: Path) -> None:
    statistics = found(days)
    figures = [draw_calendar(statistics)]
    if len(statistics.valid_days) > 1:
        figures.append(draw_forecast(statistics, predictions_of(statistics.valid_days), 0.15))
    for figure in figures:
        write_figure(figure, tmp_path / "picture.png")  # warnings are errors
        # Maps and curves fill the picture, so the layout did not collapse under its labels.
        assert sum(axes.get_position().height for axes in figure.axes) > 0.6


@pytest.mark.parametrize("synthetic", [True, False])
def test_pictures_mark_a_synthetic_trace(synthetic: bool) -> None:
    statistics = found(5, synthetic=synthetic)
    for figure in (
        draw_calendar(statistics),
        draw_forecast(statistics, predictions_of(statistics.valid_days), 0.15),
    ):
        assert ("SYNTHETIC TRACE" in texts(figure)) is synthetic


@pytest.mark.slow
def test_a_calendar_without_conflict_rates(tmp_path: Path) -> None:
    write_figure(draw_calendar(found(5, rate=None)), tmp_path / "picture.png")


def test_an_infinite_error_is_drawn(tmp_path: Path) -> None:
    statistics = with_peak_rates([0.0, 0.0, 0.3, 0.3])
    figure = draw_forecast(statistics, predictions_of(statistics.days), 0.15)
    write_figure(figure, tmp_path / "picture.png")
    assert any("above 20% on 1 day" in text for text in texts(figure))


def test_an_unwritable_picture_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="nowhere"):
        write_figure(draw_calendar(found(1)), tmp_path / "nowhere" / "picture.png")
