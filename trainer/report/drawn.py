"""Matplotlib's figures as part of a page: SVG that takes its colours and type from the page."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from traces.figure_texts import names_as_they_are

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    "#000000": "currentColor",
    "#222222": "currentColor",
    "#ffffff": "var(--card)",
    "#b0b0b0": "var(--line)",
    "#d9d9d9": "var(--wait)",
    "#8a8a8a": "var(--muted)",
    "#b3261e": "var(--bad)",
    "#9bb3c9": "var(--soft)",
    "#1f4e79": "var(--c1)",
    "#c8781e": "var(--c2)",
    "#1f9d80": "var(--c3)",
    "#8a3fd1": "var(--c4)",
}
"""What stands in the page's style for a colour of the figures: a dark page has others."""

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small, and found by a search
    "svg.hashsalt": "heddle",  # the same figure is the same text
}

_ID = re.compile(r'(\bid="|url\(#|href="#)')
_TAG = re.compile(r"<[^>]*>")
_LONG = re.compile(r"-?\d+\.\d{3,}")
_COLOUR = re.compile("|".join(COLOURS), re.IGNORECASE)


def style() -> Any:
    """A context in which figures are to be made and drawn."""
    import matplotlib

    context: Any = matplotlib.rc_context  # whose annotation is a list of all its keys
    return context(STYLE)


def as_svg(figure: Figure, name: str) -> str:
    """A figure, made in `style`, as an element of a page.

    Args:
        figure: what to draw.
        name: one word, of this figure alone in the page: ids of its parts begin with it.
    """
    drawn = io.StringIO()
    with names_as_they_are(figure):
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    text = drawn.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'^<svg\b[^>]*?(viewBox="[^"]*")[^>]*>', r'<svg role="img" \1>', text)
    text = text.replace("xlink:href", "href")
    text = re.sub(r"<style.*?</style>", "", text, count=1, flags=re.DOTALL)  # of the whole page
    text = _ID.sub(rf"\g<1>{name}-", _smaller(text))
    return _COLOUR.sub(lambda found: COLOURS[found[0].lower()], text)


def _smaller(text: str) -> str:
    """Without groups' names, without indentation, and to a hundredth of a point."""
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = _TAG.sub(lambda tag: _LONG.sub(lambda found: f"{float(found[0]):.2f}", tag[0]), text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    return re.sub(r"<g>\n(<path[^>]*/>)\n</g>", r"\1", text)
