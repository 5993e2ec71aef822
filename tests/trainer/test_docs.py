"""docs/cli.md names exactly the existing choices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainer.command.groups import group_choices
from trainer.command.main import COMMANDS
from trainer.search import SEARCHES

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?P<groups>[^|]+) \| (?P<choices>.+) \|$", re.MULTILINE)
NAME = re.compile(r"`([a-z0-9_/]+)`")
ADMISSION = "schedule"
"""The choices of this group are named in the row of policies, after a plus."""


def named() -> dict[str, set[str]]:
    """Return the code words of each group's row."""
    (table,) = re.findall(r"\| Group \| Choices \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)
    choices: dict[str, set[str]] = {}
    for row in ROW.finditer(table):
        # A group with many choices has several rows.
        for group in NAME.findall(row["groups"]):
            choices.setdefault(group, set()).update(NAME.findall(row["choices"]))
    return choices


def test_every_group_has_a_row() -> None:
    assert named().keys() == group_choices().keys() - {ADMISSION}


@pytest.mark.parametrize("group", sorted(group_choices()))
def test_every_choice_is_named(group: str) -> None:
    choices = set(group_choices()[group])
    if group == ADMISSION:
        assert choices == {name for name in choices if f"`+{name}`" in PAGE}
        return
    assert sorted(choices - named()[group]) == []
    # A row may mention choices of other groups, such as the experiments with a search.
    others = {choice for one in group_choices().values() for choice in one}
    assert sorted(named()[group] - others) == []


def test_every_search_and_every_command_is_named() -> None:
    assert sorted(SEARCHES.keys() - named()["search"]) == []
    (commands,) = re.findall(r"\A# The command\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert {line.split()[1] for line in commands.splitlines()} == COMMANDS.keys()


def test_every_heading_follows_an_empty_line() -> None:
    """A heading directly below a table would be a row of it."""
    assert re.findall(r"[^\n]\n(##.*)", PAGE) == []
