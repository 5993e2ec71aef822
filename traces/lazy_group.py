"""A group of commands of which only the one that is used is loaded."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Imports a command when it is used: `--help` and `--version` need not load every library.

    Args:
        places: where each command is, as `module:attribute`, by name, in the order of the help.
    """

    def __init__(self, *arguments: Any, places: Mapping[str, str], **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._places = places

    def list_commands(self, context: click.Context) -> list[str]:
        """The commands, in their order."""
        return list(self._places)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        place = self._places.get(name)
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        # Click's mark of lines to be left as they are is a backspace, which a raw docstring spells.
        command.help = (command.help or "").replace("\\b", "\b")
        return command
