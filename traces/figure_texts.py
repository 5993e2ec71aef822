"""Names in pictures: shown literally, not interpreted by matplotlib."""

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
    """Draw a figure in this context: `$` starts no formula, and control characters are escaped.

    A character that the font lacks becomes a box, without a warning for each.
    """
    import matplotlib
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
        text.set_text("\n".join(map(visible, text.get_text().split("\n"))))
    context: Any = matplotlib.rc_context  # typed as a list of all keys
    with context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def legend_label(name: str) -> str:
    """Return a name for a legend, which would leave out names that begin with `_`."""
    return f" {visible(name)}" if name.startswith("_") else visible(name)
