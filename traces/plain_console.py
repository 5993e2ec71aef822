"""A console that prints names as they are: no markup in them, and nothing that a terminal obeys."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from traces.spelling import visible


class PlainConsole(Console):
    """Rich's console for text that comes from files; its arguments are Rich's."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **arguments)

    def render_str(self, text: str, **arguments: Any) -> Text:
        """A text as Rich draws it: its line breaks stay, other control characters are written."""
        return super().render_str("\n".join(map(visible, text.split("\n"))), **arguments)
