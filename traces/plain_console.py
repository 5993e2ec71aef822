"""A console that prints names literally: no markup, and no control characters."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from traces.spelling import visible


class PlainConsole(Console):
    """Rich's console for text from files; it takes the arguments of Rich's."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **arguments)

    def render_str(self, text: str, **arguments: Any) -> Text:
        """Return a text for display; its line breaks stay, other control characters are escaped."""
        return super().render_str("\n".join(map(visible, text.split("\n"))), **arguments)
