"""The help of groups describes commands without loading them."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from traces.command import trace
from traces.lazy_group import LazyGroup
from trainer.command.lab import lab
from trainer.command.machine import machine
from trainer.command.main import heddle
from trainer.command.policy import policy

LINE = 80 - 14
"""The width of a line of the help, without the command's name."""


@pytest.mark.parametrize(
    "group", [heddle, trace, machine, policy, lab], ids=lambda group: group.name
)
def test_every_command_can_be_loaded_and_has_a_summary(group: LazyGroup) -> None:
    context = click.Context(group)
    for name, command in group.lazy.items():
        assert group.get_command(context, name) is not None
        assert command.summary[0].isupper()
        assert command.summary.endswith(".")
        assert len(command.summary) <= LINE


OTHERWISE = {"diff": "compare"}
"""Commands that the summary of their group paraphrases."""


@pytest.mark.parametrize("name", ["runs"])
def test_the_summary_of_a_group_names_its_commands(name: str) -> None:
    group = heddle.get_command(click.Context(heddle), name)
    assert isinstance(group, click.Group)
    said = heddle.lazy[name].summary.lower()
    assert [one for one in group.commands if OTHERWISE.get(one, one) not in said] == []


def test_help_loads_no_command() -> None:
    program = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from trainer.command.main import heddle\n"
        "assert 'machine' in CliRunner().invoke(heddle, ['--help']).output\n"
        "modules = {one.where.partition(':')[0] for one in heddle.lazy.values()}\n"
        "print(sorted(modules & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
