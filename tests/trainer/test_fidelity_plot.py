"""The names in the picture of fidelity."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from matplotlib.axes import Axes

from envs.fidelity import Point, summarize
from trainer.fidelity_plot import plot_fidelity


def _point(name: str, real: float, virtual: float) -> Point:
    return Point(name, real, virtual, 0.01, 1e5 * real, 1e5 * virtual, 0.1, 0.1)


def test_the_best_of_each_machine_and_the_outliers_are_named(tmp_path: Path) -> None:
    found = summarize(
        [
            _point("best on real cores", 1.4, 1.3),
            _point("best on virtual ones", 1.2, 1.5),
            _point("too fast on virtual ones", 0.3, 0.9),
            _point("too slow on virtual ones", 0.8, 0.3),
            _point("as it should be", 0.7, 0.7),
        ],
        {},
    )
    with patch.object(Axes, "annotate", autospec=True, side_effect=Axes.annotate) as annotate:
        plot_fidelity(found, 16, "silo", tmp_path / "fidelity.png")
    named = {call.args[1] for call in annotate.call_args_list}
    assert named == {point.name for point in found.points} - {"as it should be"}
