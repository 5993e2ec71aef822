"""Draws variance trees: a box for each node, a dashed one for each covariance of siblings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.figure_file import write_figure
from trainer.variance.profile import Profile, TypeProfile
from trainer.variance.step_labels import OWN
from trainer.variance.tables import short_subject
from trainer.variance.tree import Node

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, BAR, COVARIANCE = "#222222", "#8a8a8a", "#9bb3c9", "#c8781e"
_WIDTH, _ROW, _TITLE = 3.1, 0.42, 0.75
"""Inches: of a column of the tree, of a row, and around the title of a panel."""
_BOX = 0.9
"""Share of a column that a box takes."""
_LONGEST = 58
"""Characters of a name; a longer one is cut in the middle."""
_SAME = 0.05
"""The relative difference of variances below which a node and its child are one box."""


@dataclass
class _Box:
    """A drawn node.

    Attributes:
        name: the text in it.
        share: its variance, or twice its covariance, ÷ variance of the latency.
        mean_us: mean time; None for a covariance.
        depth: column, from the left.
        row: row, from the top; the middle of its children.
        children: the boxes to the right of it.
    """

    name: str
    share: float
    mean_us: float | None
    depth: int
    row: float = 0.0
    children: list[_Box] = field(default_factory=list)

    def boxes(self) -> list[_Box]:
        return [self, *(box for child in self.children for box in child.boxes())]


def draw_trees(profiles: Sequence[Profile], types: Sequence[str], least: float, path: Path) -> None:
    """Draw `trees_figure` into an image; the suffix determines the format.

    Raises:
        WritingError: it can't be written.
    """
    write_figure(trees_figure(profiles, types, least), path)


def trees_figure(profiles: Sequence[Profile], types: Sequence[str], least: float) -> Figure:
    """Draw the variance trees: a row of panels for each type, a column for each policy.

    Args:
        profiles: the profiles of the policies.
        types: the transaction types to draw.
        least: the least share of the latency's variance, 0 to 1, of a node that is drawn.
    """
    # Slow to import, so only where it is used. The object interface needs no display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [
        [
            (profile, _boxes(profile.types[name], least) if name in profile.types else None)
            for profile in profiles
        ]
        for name in types
    ]
    heights = [max(_rows(box) for _, box in row) * _ROW + _TITLE for row in rows]
    widths = [max(_columns(row[at][1]) for row in rows) * _WIDTH for at in range(len(profiles))]
    figure = Figure(figsize=(sum(widths), sum(heights)))
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(
        len(rows),
        len(profiles),
        height_ratios=heights,
        width_ratios=widths,
        left=0.01,
        right=0.99,
        top=1 - 0.5 * _TITLE / sum(heights),
        bottom=0.01,
        hspace=_TITLE / (sum(heights) / len(heights)),
        wspace=0.02,
    )
    for at, (name, row) in enumerate(zip(types, rows, strict=True)):
        for column, (profile, box) in enumerate(row):
            axes = figure.add_subplot(grid[at, column])
            axes.set_axis_off()
            what = f"{name}, {short_subject(profile.subject)}"
            if box is None:
                axes.set_title(f"{what}: too few ended", loc="left", fontsize=10, color=INK)
                continue
            _draw(axes, box, widths[column] / _WIDTH, (heights[at] - _TITLE) / _ROW)
            kind = profile.types[name]
            latency = f"{kind.tree.mean_us:,.1f} ± {kind.sd_us:,.1f} µs"
            axes.set_title(f"{what}: {latency}", loc="left", fontsize=10, color=INK)
    return figure


def _boxes(profile: TypeProfile, least: float) -> _Box:
    whole = profile.tree.variance or 1.0
    root = _box(profile.tree, 0, whole, least)
    _place(root, 0)
    return root


def _box(node: Node, depth: int, whole: float, least: float) -> _Box:
    """Return the box of a node, with those of its children that are large enough.

    A node and a child with nearly all of its variance are drawn as one box, which saves columns.
    """
    name = node.label.name
    while depth > 0 and (child := _principal(node, whole, least)) is not None:
        node = child
        name = name if node.label.name == OWN else f"{name}: {node.label.name}"
    box = _Box(name, node.variance / whole, node.mean_us, depth)
    children = [
        _box(child, depth + 1, whole, least)
        for child in node.children
        if child.variance / whole >= least
    ]
    children += [
        _Box(
            f"{pair.first.label.name} × {pair.second.label.name}",
            pair.value / whole,
            None,
            depth + 1,
        )
        for pair in node.covariances
        if abs(pair.value) / whole >= least
    ]
    box.children = sorted(children, key=lambda child: -child.share)
    return box


def _principal(node: Node, whole: float, least: float) -> Node | None:
    """Return the only child or covariance that would be drawn, if it has the node's variance."""
    pairs = [pair for pair in node.covariances if abs(pair.value) / whole >= least]
    large = [child for child in node.children if child.variance / whole >= least]
    if len(node.children) == 1:
        return node.children[0]
    if pairs or len(large) != 1 or abs(large[0].variance - node.variance) > _SAME * node.variance:
        return None
    return large[0]


def _place(box: _Box, row: int) -> int:
    """Give each leaf a row, and other boxes the middle of their children. Returns the next row."""
    if not box.children:
        box.row = float(row)
        return row + 1
    for child in box.children:
        row = _place(child, row)
    box.row = (box.children[0].row + box.children[-1].row) / 2
    return row


def _rows(box: _Box | None) -> int:
    return 1 if box is None else sum(not inner.children for inner in box.boxes())


def _columns(box: _Box | None) -> int:
    return 1 if box is None else 1 + max(inner.depth for inner in box.boxes())


def _draw(axes: Axes, root: _Box, columns: float, rows: float) -> None:
    """Draw a tree into a panel with a number of columns and rows."""
    from matplotlib.patches import Rectangle

    axes.set_xlim(0, columns)
    axes.set_ylim(rows - 0.5, -0.5)
    for box in root.boxes():
        for child in box.children:
            axes.plot(
                [box.depth + _BOX, child.depth],
                [box.row, child.row],
                color=MUTED,
                linewidth=0.7,
                zorder=1,
            )
        covariance = box.mean_us is None
        colour = COVARIANCE if covariance else BAR
        axes.add_patch(
            Rectangle(
                (box.depth, box.row - 0.4),
                _BOX * min(1.0, abs(box.share)),
                0.8,
                facecolor=colour,
                alpha=0.55,
                linewidth=0,
                zorder=2,
            )
        )
        axes.add_patch(
            Rectangle(
                (box.depth, box.row - 0.4),
                _BOX,
                0.8,
                facecolor="none",
                edgecolor=MUTED,
                linestyle="--" if covariance else "-",
                linewidth=0.8,
                zorder=3,
            )
        )
        mean = "" if box.mean_us is None else f", mean {box.mean_us:,.1f} µs"
        axes.text(
            box.depth + 0.02,
            box.row,
            f"{_short(box.name)}\n{100 * box.share:,.0f} %{mean}",
            fontsize=6.5,
            color=INK,
            va="center",
            zorder=4,
        )


def _short(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    half = (_LONGEST - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
