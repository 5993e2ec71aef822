"""Matplotlib figures embedded in a page: SVG with the page's colours and fonts."""

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
"""The page's style variable for each colour of a figure: the dark theme has other values."""

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small and searchable
    "svg.hashsalt": "heddle",  # the same figure gives the same text
}

_ID = re.compile(r'(\bid="|url\(#|href="#)')
_TAG = re.compile(r"<[^>]*>")
_LONG = re.compile(r"-?\d+\.\d{3,}")
_COLOUR = re.compile("|".join(COLOURS), re.IGNORECASE)


def style() -> Any:
    """Return a context in which to create and draw figures."""
    import matplotlib

    context: Any = matplotlib.rc_context  # its annotation lists every key
    return context(STYLE)


def as_svg(figure: Figure, name: str) -> str:
    """Return a figure created within `style` as an SVG element for a page.

    Args:
        figure: the figure to draw.
        name: one word, unique in the page; the prefix of the element ids.
    """
    drawn = io.StringIO()
    with names_as_they_are(figure):
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    text = drawn.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'^<svg\b[^>]*?(viewBox="[^"]*")[^>]*>', r'<svg role="img" \1>', text)
    text = text.replace("xlink:href", "href")
    text = re.sub(r"<style.*?</style>", "", text, count=1, flags=re.DOTALL)  # would style the page
    text = _ID.sub(rf"\g<1>{name}-", _smaller(text))
    return _COLOUR.sub(lambda found: COLOURS[found[0].lower()], text)


def _smaller(text: str) -> str:
    """Drop group names and indentation, and round to a hundredth of a point."""
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = _TAG.sub(lambda tag: _LONG.sub(lambda found: f"{float(found[0]):.2f}", tag[0]), text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    return re.sub(r"<g>\n(<path[^>]*/>)\n</g>", r"\1", text)
