"""The front of a training: policies that no other dominates, measured again on fresh inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from envs import Comparison, Row
from envs.metrics import METRICS
from envs.objective import Objective
from policies import PolicyDocument, PolicyFileError, save
from traces.spelling import visible
from trainer.checkpoint import WritingError, write_atomically
from trainer.evaluation.front import non_dominated
from trainer.figure_file import write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMA_VERSION = 1

NAME = "front-{:02d}"
"""The names of the policies of a front."""

FIGURES = "front"
"""The field of a policy's provenance with its figures for the metrics of the front."""

CHOSEN = "#d1495b"
LINE = "#30638e"
BASELINE = "#7a7a7a"


@dataclass(frozen=True)
class Front:
    """The policies of a front.

    Attributes:
        comparison: they, the champion and the baselines, measured side by side.
        documents: the policies by the name of their row.
        chosen: the name of the champion's row.
        objective: with the metrics of the front.
    """

    comparison: Comparison
    documents: Mapping[str, PolicyDocument]
    chosen: str
    objective: Objective

    @property
    def members(self) -> list[Row]:
        """Return the policies that no other dominates on the fresh inputs, within the limits.

        They are in the order of the first metric, the best first.
        """
        rows = [row for row in self.comparison.rows if row.subject.name in self.documents]
        rows = [row for row in rows if not row.limits_exceeded(self.objective)]
        scores = [[_merit(row, name) for name in self.objective.front] for row in rows]
        kept = [rows[position] for position in non_dominated(scores)]
        return sorted(kept, key=lambda row: -_merit(row, self.objective.front[0]))

    @property
    def policies(self) -> list[PolicyDocument]:
        """Return the policies of `members`, with their figures as the provenance's `front`."""
        return [
            replace(document, provenance={**document.provenance, FIGURES: self._figures(row)})
            for row in self.members
            for document in [self.documents[row.subject.name]]
        ]

    @property
    def baselines(self) -> list[Row]:
        """Return the rows of the baselines."""
        return [row for row in self.comparison.rows if row.subject.name not in self.documents]

    def as_dict(self) -> dict[str, Any]:
        """Return the front as JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "objective": self.objective.as_dict(),
            "chosen": self.chosen,
            "policies": [self._entry(row, f"{row.subject.name}.json") for row in self.members],
            "baselines": [self._entry(row, None) for row in self.baselines],
        }

    def _entry(self, row: Row, file: str | None) -> dict[str, Any]:
        entry: dict[str, Any] = {"name": row.subject.name, **self._figures(row)}
        return entry | ({} if file is None else {"file": file})

    def _figures(self, row: Row) -> dict[str, float | None]:
        return {name: row.figure(name) for name in self.objective.front}


def write_front(front: Front, folder: Path, picture: Path) -> None:
    """Write the policies, the figures as `front.json`, and the picture.

    Args:
        front: the front.
        folder: for the policies and the figures; created.
        picture: the image.

    Raises:
        WritingError: a file can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WritingError(f"{folder}: can't be created: {error.strerror}") from error
    for document in front.policies:
        try:
            save(document, folder / f"{document.name}.json")
        except PolicyFileError as error:
            raise WritingError(str(error)) from error
    text = json.dumps(front.as_dict(), indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / "front.json", text)
    plot_front(front, picture)


def front_table(front: Front) -> Table:
    """Return the front as a table: a row per policy, a column per metric."""
    table = Table(title="front", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in front.objective.front:
        metric = METRICS[name]
        unit = f" {metric.unit}" if metric.unit else ""
        table.add_column(f"{metric.words}{unit}", justify="right")
    for row in [*front.members, *front.baselines]:
        chosen = row.subject.name == front.chosen
        figures = (row.figure(name) for name in front.objective.front)
        table.add_row(
            f"{visible(row.subject.name)}{' (chosen)' if chosen else ''}",
            *("–" if figure is None else f"{figure:,.4g}" for figure in figures),
            style="bold" if chosen else None,
        )
    return table


def plot_front(front: Front, path: Path) -> None:
    """Draw the first two metrics of the front, with the baselines.

    Raises:
        WritingError: it can't be written.
    """
    # Takes a second to import, so only here. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    first, second = front.objective.front[:2]
    line = _points(front.members, first, second)
    axes.plot(*zip(*line.values(), strict=True), "o-", color=LINE, label="learned, non-dominated")
    chosen = line.get(front.chosen)
    if chosen is not None:
        axes.plot(*chosen, "o", color=CHOSEN, markersize=10, label="chosen")
    others = _points(front.baselines, first, second)
    if others:
        axes.plot(*zip(*others.values(), strict=True), "s", color=BASELINE, label="baselines")
    _label(axes, others)
    _scale(axes, first, second, [*line.values(), *others.values()])
    axes.set_title(front.objective.text, loc="left", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    write_figure(figure, path)


def _points(rows: Sequence[Row], first: str, second: str) -> dict[str, tuple[float, float]]:
    found = {row.subject.name: (row.figure(first), row.figure(second)) for row in rows}
    return {name: (x, y) for name, (x, y) in found.items() if x is not None and y is not None}


def _label(axes: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    for name, place in points.items():
        axes.annotate(name, place, xytext=(6, 4), textcoords="offset points", fontsize=8)


def _scale(axes: Axes, first: str, second: str, points: Sequence[tuple[float, float]]) -> None:
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    for letter, name, values in (
        ("x", first, [point[0] for point in points]),
        ("y", second, [point[1] for point in points]),
    ):
        words, unit = METRICS[name].words, METRICS[name].unit
        axis = getattr(axes, f"{letter}axis")
        axis.set_label_text(f"{words} ({unit})" if unit else words)
        # Latencies of policies differ by orders of magnitude.
        if unit == "µs" and min(values) > 0.0 and max(values) > 10 * min(values):
            getattr(axes, f"set_{letter}scale")("log", subs=[2, 5])
            axis.set_minor_formatter(StrMethodFormatter("{x:,.0f}"))
        else:
            axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}" if unit else "{x:g}"))


def _merit(row: Row, name: str) -> float:
    """Return the median figure of merit over the repeats."""
    found = sorted(Objective(name).value(result) for result in row.repeats)
    return found[len(found) // 2]
