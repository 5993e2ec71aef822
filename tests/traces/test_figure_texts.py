"""Names in pictures."""

from __future__ import annotations

import io
import warnings

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from traces.figure_texts import legend_label, names_as_they_are

NAMES = [
    "pay$now$",
    "$\\frac{$",
    "$x_$",
    "_hidden",
    "a\nb",
    "\x1b]0;x\x07",
    "漢字",
    "<b>&amp;",
    "%s{0}",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_drawn_literally(name: str) -> None:
    figure = Figure(figsize=(4, 3))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(name)
    axes.barh([name, "other"], [1, 2])
    axes.plot([1, 2], [0, 1], label=legend_label(name))
    figure.legend()
    drawn = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with names_as_they_are(figure):
            figure.savefig(io.BytesIO(), format="png")
            figure.savefig(drawn, format="svg")
    assert len(figure.legends[0].get_texts()) == 1


def test_control_characters_of_titles_are_escaped() -> None:
    figure = Figure()
    FigureCanvasAgg(figure)
    title = figure.add_subplot().set_title("a\nb \x1b[2J $x")
    with names_as_they_are(figure):
        assert title.get_text() == "a\nb \\x1b[2J $x"
