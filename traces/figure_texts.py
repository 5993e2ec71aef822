"""Names in pictures: any character may be in them, and none is a command to matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from traces.spelling import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def names_as_they_are(figure: Figure) -> Iterator[None]:
    """A context in which a figure is drawn: `$` begins no formula, control characters are text.

    A letter that the font lacks is a box, without a warning for each.
    """
    import matplotlib
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
        text.set_text("\n".join(map(visible, text.get_text().split("\n"))))
    context: Any = matplotlib.rc_context  # whose annotation is a list of all its keys
    with context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def legend_label(name: str) -> str:
    """A name as a legend shows it: one that begins with `_` would be left out."""
    return f" {visible(name)}" if name.startswith("_") else visible(name)
