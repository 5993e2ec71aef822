"""The picture of a window of a timeline: a lane a core, for reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envs.timeline import Attempt, Timeline, Wait, attempts_between
from traces.figure_texts import legend_label
from trainer.figure_file import write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TYPE_COLOURS = (
    "#1f4e79",
    "#c8781e",
    "#1f9d80",
    "#8a3fd1",
    "#8c6d31",
    "#4a4a4a",
    "#b5838d",
    "#6b8e23",
    "#5e60ce",
    "#8c8c8c",
)
WAIT, ABORT, INK = "#d9d9d9", "#b3261e", "#222222"
_ATTEMPT_HEIGHT, _ACCESS_HEIGHT = 0.78, 0.5
_LABEL_POINTS = 7.5
_LABEL_INDENT = 1.5
_POINTS_A_CHARACTER = 0.65
"""Width of a character ÷ size of the type: what tells whether a label fits."""


@dataclass(frozen=True)
class Window:
    """What part of a timeline is drawn.

    Attributes:
        begin: µs.
        end: µs.
        cores: which, from top to bottom.
    """

    begin: float
    end: float
    cores: Sequence[int]


def draw_window(timeline: Timeline, window: Window, title: str, path: Path) -> None:
    """Draw `window_figure` into an image; its ending gives the format.

    Raises:
        WritingError: it can't be written.
    """
    write_figure(window_figure(timeline, window, title), path)


def window_figure(timeline: Timeline, window: Window, title: str) -> Figure:
    """Attempts, accesses, waits with their blockers, publications, aborts and commits.

    Args:
        timeline: what happened.
        window: what of it to draw.
        title: above the picture.
    """
    # Takes a second to import: only where it is used. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 1.6 + 0.7 * len(window.cores)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xlim(window.begin, window.end)
    axes.set_ylim(len(window.cores) - 0.45, -0.55)
    axes.set_yticks(range(len(window.cores)), [f"core {core}" for core in window.cores])
    axes.set_xlabel("virtual time, µs")
    axes.set_title(title, loc="left")
    axes.grid(axis="x", alpha=0.2)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.draw_without_rendering()  # now the lanes' width in points is known
    painter = _Painter(timeline, window, axes, axes.bbox.width / figure.dpi * 72)
    painter.paint()
    return figure


class _Painter:
    def __init__(self, timeline: Timeline, window: Window, axes: Axes, width_points: float) -> None:
        self._timeline = timeline
        self._window = window
        self._axes = axes
        self._points_a_us = width_points / (window.end - window.begin)
        self._lanes = {core: lane for lane, core in enumerate(window.cores)}
        names = [kind.name for kind in timeline.signature.types]
        names += sorted({a.type for a in timeline.attempts} - set(names))
        self._colours = {
            name: TYPE_COLOURS[at % len(TYPE_COLOURS)] for at, name in enumerate(names)
        }

    def paint(self) -> None:
        begin, end = self._window.begin * 1000, self._window.end * 1000
        for backoff in self._timeline.backoffs:
            lane = self._lanes.get(backoff.core)
            if lane is not None and backoff.begin < end and backoff.end > begin:
                self._axes.hlines(
                    lane,
                    backoff.begin / 1000,
                    backoff.end / 1000,
                    color=ABORT,
                    linewidth=0.8,
                    linestyle=":",
                )
        drawn = [a for a in attempts_between(self._timeline, begin, end) if a.core in self._lanes]
        for attempt in drawn:
            self._attempt(attempt)
        for attempt in drawn:
            self._arrows(attempt, begin, end)
        self._legend({attempt.type for attempt in drawn})

    def _attempt(self, attempt: Attempt) -> None:
        lane, colour = self._lanes[attempt.core], self._colours[attempt.type]
        self._bar(lane, attempt.begin, attempt.end, _ATTEMPT_HEIGHT, colour, alpha=0.22)
        for access in attempt.accesses:
            self._bar(lane, access.begin, access.end, _ACCESS_HEIGHT, colour, alpha=0.75)
        if attempt.commit_begin is not None and attempt.outcome != "abort":
            self._bar(lane, attempt.commit_begin, attempt.end, _ACCESS_HEIGHT, INK, alpha=0.75)
        for wait in attempt.waits:
            self._bar(lane, wait.begin, wait.end, _ACCESS_HEIGHT, WAIT, alpha=1.0, hatch="////")
        for access in attempt.accesses:
            waited = [w.end for w in attempt.waits if access.begin <= w.begin <= access.end]
            # What can be read is the part behind the waits.
            self._label(lane, max([access.begin, *waited]), access.end, self._short(access.state))
        for point in attempt.points:
            if point.published:
                self._axes.plot(point.time / 1000, lane - 0.33, marker="v", color=INK, ms=4)
            elif not point.held:
                self._axes.plot(point.time / 1000, lane - 0.33, marker="x", color=ABORT, ms=4)
        if attempt.outcome == "abort":
            self._axes.plot(attempt.end / 1000, lane, marker="X", color=ABORT, ms=6, zorder=5)
        name = f"{attempt.type} #{attempt.number}"
        self._label(lane + 0.325, attempt.begin, attempt.end, name, colour=INK, always=True)

    def _arrows(self, attempt: Attempt, begin: float, end: float) -> None:
        """From the transaction waited for to the one that continues."""
        for wait in attempt.waits:
            if wait.attempt is None or wait.until == "spin" or not begin <= wait.end <= end:
                continue
            other = self._timeline.attempts[wait.attempt]
            if other.core in self._lanes:
                self._arrow(wait, self._lanes[other.core], self._lanes[attempt.core])

    def _arrow(self, wait: Wait, source: int, target: int) -> None:
        towards = 0.25 if target > source else -0.25
        self._axes.annotate(
            "",
            xy=(wait.end / 1000, target - towards),
            xytext=(wait.end / 1000, source + towards),
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 0.8, "shrinkB": 0},
            annotation_clip=True,
        )

    def _bar(
        self,
        lane: float,
        begin: float,
        end: float,
        height: float,
        colour: str,
        *,
        alpha: float,
        hatch: str | None = None,
    ) -> None:
        from matplotlib.patches import Rectangle

        # What lies outside would take room in a file of shapes.
        left = max(begin / 1000, self._window.begin)
        right = min(end / 1000, self._window.end)
        if left > right:
            return
        bar = Rectangle(
            (left, lane - height / 2),
            right - left,
            height,
            facecolor=colour,
            alpha=alpha,
            hatch=hatch,
            edgecolor="white" if hatch is None else "#8a8a8a",
            linewidth=0.3,
        )
        self._axes.add_patch(bar)

    def _label(
        self,
        lane: float,
        begin: float,
        end: float,
        text: str,
        *,
        colour: str = "white",
        always: bool = False,
    ) -> None:
        """A text in a bar, as far as it fits and can be seen."""
        left = max(begin / 1000, self._window.begin)
        right = min(end / 1000, self._window.end)
        points = (right - left) * self._points_a_us - 2 * _LABEL_INDENT
        room = int(points / (_LABEL_POINTS * _POINTS_A_CHARACTER))
        if room < (len(text) if not always else 4):
            return
        self._axes.text(
            left + _LABEL_INDENT / self._points_a_us,
            lane,
            text[:room],
            fontsize=_LABEL_POINTS,
            color=colour,
            va="center",
            clip_on=True,
        )

    def _short(self, state: int | None) -> str:
        """r(CUSTOMER), w(STOCK), i(ORDER_LINE): as papers write accesses."""
        if state is None:
            return ""
        access = self._timeline.signature.accesses[state]
        letters = {"read": "r", "update": "w", "insert": "i", "remove": "d", "scan": "s"}
        return f"{letters.get(access.kind, 'rw')}({access.table})"

    def _legend(self, types: set[str]) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        entries: list[Patch | Line2D] = [
            Patch(color=colour, alpha=0.75, label=legend_label(name))
            for name, colour in self._colours.items()
            if name in types
        ]
        entries += [
            Patch(facecolor=WAIT, edgecolor="#8a8a8a", hatch="////", label="waits"),
            Patch(color=INK, alpha=0.75, label="commits"),
            Line2D([], [], color=INK, marker="v", ms=4, linestyle="", label="publishes"),
            Line2D([], [], color=ABORT, marker="x", ms=4, linestyle="", label="fails validation"),
            Line2D([], [], color=ABORT, marker="X", ms=6, linestyle="", label="aborts"),
            Line2D([], [], color=ABORT, linestyle=":", label="backs off"),
        ]
        self._axes.figure.legend(
            handles=entries,
            loc="outside lower center",
            ncols=len(entries) if len(entries) <= 8 else -(-len(entries) // 2),
            frameon=False,
            fontsize=9,
        )
