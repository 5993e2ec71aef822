"""A group of commands of which only the one that is used is loaded."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True)
class LazyCommand:
    """Where a command is.

    Attributes:
        where: `module:attribute`.
        summary: what the group's help says of it: one line, so that nobody need load it for that.
    """

    where: str
    summary: str


class LazyGroup(click.Group):
    """Imports a command when it is used: `--help` and `--version` load none of the libraries.

    Args:
        lazy: where each command is, by name, in the order of the help.
    """

    def __init__(self, *arguments: Any, lazy: Mapping[str, LazyCommand], **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.lazy = lazy

    def list_commands(self, context: click.Context) -> list[str]:
        """The commands, in their order."""
        return list(self.lazy)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        place = self.lazy.get(name)
        if place is None:
            return None
        module, _, attribute = place.where.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        # Click's mark of lines to be left as they are is a backspace, which a raw docstring spells.
        command.help = (command.help or "").replace("\\b", "\b")
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands and their summaries, none of them imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.summary) for name, one in self.lazy.items()])
