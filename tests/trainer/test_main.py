"""The command `heddle` itself: mistyped commands, and interrupts while it loads."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from traces.lazy_group import LazyCommand
from trainer.command import entry, main


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["trian"], "did you mean train?"),
        (["Evaluate"], "did you mean evaluate?"),
        (["xyz"], "there are train, "),
        (["policy", "sow"], "did you mean show?"),
        (["trace", "imprt"], "did you mean import?"),
        (["policy", "lst"], "did you mean list?"),
        (["lab", "schedule"], "did you mean schedules?"),
    ],
)
def test_a_mistyped_command_gets_a_hint(typed: list[str], hint: str) -> None:
    result = CliRunner().invoke(main.heddle, typed)
    assert result.exit_code == 2
    assert f"No such command '{typed[-1]}'; {hint}" in result.output


def test_an_interrupt_while_a_command_loads_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("traces.lazy_group.importlib.import_module", interrupted)
    monkeypatch.setitem(main.COMMANDS, "slow", LazyCommand("slow:slow", "Take a second to load."))
    result = CliRunner().invoke(main.heddle, ["slow"])
    assert (result.exit_code, result.output) == (130, "interrupted\n")


def test_an_interrupt_while_the_program_loads_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting:
        """A module finder that is interrupted by Ctrl-C."""

        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "trainer.command.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupting, *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "interrupted\n")


RENAMED = sorted(main.RENAMED)


@pytest.mark.parametrize("name", RENAMED)
def test_an_old_name_shows_the_new_one(name: str) -> None:
    done = CliRunner().invoke(main.heddle, [name, "--help"])
    assert done.exit_code == 2
    assert done.output == f"heddle {name} is now: {main.RENAMED[name]}\n"
    (command, *inner) = main.RENAMED[name].removeprefix("heddle ").split(",")[0].split()
    assert command in main.heddle.list_commands(click.Context(main.heddle))
    shown = CliRunner().invoke(main.heddle, [command, *inner[:1], "--help"]).output
    assert all(word in shown for word in inner if word.startswith("--"))
    assert name not in main.heddle.list_commands(click.Context(main.heddle))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("tr", {"plain,train", "plain,trace"}),
        ("policy ve", {"plain,verify"}),
        ("check --exp", {"plain,--export"}),
        ("libr", set()),
    ],
)
def test_the_shell_completes_commands_and_options(words: str, found: set[str]) -> None:
    typed = {"COMP_WORDS": f"heddle {words}", "COMP_CWORD": str(len(words.split()))}
    done = subprocess.run(
        [sys.executable, "-m", "trainer.command.main"],
        env={**os.environ, **typed, "_HEDDLE_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
    )
    assert set(done.stdout.split()) == found, done.stderr
