"""A group of commands of which only the one that is used is loaded."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from traces.spelling import visible


@dataclass(frozen=True)
class LazyCommand:
    """Where a command is.

    Attributes:
        where: `module:attribute`.
        summary: what the group's help says of it: one line, so that nobody need load it for that.
    """

    where: str
    summary: str


class HintingGroup(click.Group):
    """Says which command a mistyped one may be."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed.

        Raises:
            click.UsageError: there is no such command.
        """
        typed, names = args[0], self.list_commands(context)
        if typed not in names and not typed.startswith("-"):
            close = difflib.get_close_matches(typed.lower(), names, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
            context.fail(f"No such command '{visible(typed)}'; {hint}")
        return super().resolve_command(context, args)


class LazyGroup(HintingGroup):
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
