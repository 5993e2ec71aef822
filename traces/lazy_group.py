"""Command groups that suggest names for mistyped commands and import only the command that runs."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

import click
from click.shell_completion import CompletionItem

from traces.spelling import visible


@dataclass(frozen=True)
class LazyCommand:
    """The location and the summary of a command.

    Attributes:
        where: `module:attribute`.
        summary: one line for the group's help, which is printed without importing the command.
    """

    where: str
    summary: str


class RenamedCommandError(click.ClickException):
    """A command was called by its former name: its message is one line, and its exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, by default to standard error."""
        click.echo(self.message, file=file, err=file is None)


class HintingGroup(click.Group):
    """A group that suggests the command that a mistyped name may mean.

    Args:
        renamed: what replaces each command that was renamed, by its former name. A former name
            appears neither in the help nor in the shell's completion.
    """

    def __init__(
        self, *arguments: Any, renamed: Mapping[str, str] | None = None, **named: Any
    ) -> None:
        super().__init__(*arguments, **named)
        self.renamed = dict(renamed or {})

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name.

        Raises:
            click.UsageError: there is no such command.
            RenamedCommandError: the command has a new name.
        """
        typed, names = args[0], self.list_commands(context)
        # The shell's completion parses arguments without reporting errors.
        if typed not in names and not typed.startswith("-") and not context.resilient_parsing:
            if typed in self.renamed:
                former = f"{context.command_path} {typed}"
                raise RenamedCommandError(f"{former} is now: {self.renamed[typed]}")
            close = difflib.get_close_matches(typed.lower(), names, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
            context.fail(f"No such command '{visible(typed)}'; {hint}")
        return super().resolve_command(context, args)


class LazyGroup(HintingGroup):
    """A group that imports a command only to run it, so `--help` and `--version` are fast.

    Args:
        lazy: the location of each command by name, in the order of the help.
        renamed: as of `HintingGroup`.
    """

    def __init__(self, *arguments: Any, lazy: Mapping[str, LazyCommand], **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.lazy = lazy

    def list_commands(self, context: click.Context) -> list[str]:
        """The names of the commands in the order of the help."""
        return list(self.lazy)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command; None if there is none of this name."""
        place = self.lazy.get(name)
        if place is None:
            return None
        module, _, attribute = place.where.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        # Click leaves the lines after a backspace character unwrapped; raw docstrings spell it.
        command.help = (command.help or "").replace("\\b", "\b")
        return command

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command or an option without importing the commands."""
        names = [
            CompletionItem(name, help=command.summary)
            for name, command in self.lazy.items()
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, context, incomplete)]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and their summaries without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in self.lazy.items()])
