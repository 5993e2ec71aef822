"""Runs the commands of docs/postgresql-tutorial.md and compares their output with the page.

The commands are read from the page. Only the lengths of runs differ, see `SHORTER`.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.traces.importers.postgresql.server import Server
from tests.trainer.tiny_training import TINY
from trainer.command.main import heddle

PAGE = Path(__file__).parents[4] / "docs" / "postgresql-tutorial.md"

RESTART = "sudo systemctl restart postgresql"

COMPARING = [one for one in TINY if one.startswith(("tuning.", "run.seconds", "run.warmup"))]
KEPT = ("machine", "baselines", "validation")
"""Shorter settings of a training: cores, baselines, and the check on real cores."""

TRAINING = [
    *(one for one in TINY if not one.startswith(KEPT)),
    *(f"validation.{one.removeprefix('run.')}" for one in (*COMPARING, "run.repeats=1")),
]

SHORTER = {
    " -T 30 bench": " -t 30 bench",
    "ic3": " ".join(["ic3", *COMPARING]),
    "search.generations=5": " ".join(TRAINING),
    "seconds=10 report_seconds=5": "seconds=1 report_seconds=0.5",
}
"""Replacements at the end of commands; each applies to one of them."""

DIFFERS = "heddle policy diff"
"""The command whose exit code tells whether policies differ; any is accepted."""


@dataclass(frozen=True)
class Block:
    """The text between two fences.

    Attributes:
        language: the language of the first fence; `text` is output of the commands before it.
        content: the lines.
    """

    language: str
    content: str

    def commands(self) -> list[str]:
        """Return the commands, each on one line, shortened and without a change of the user."""
        joined = self.content.replace("\\\n", " ").splitlines()
        return [shorter(one if one == RESTART else one.removeprefix("sudo ")) for one in joined]


def blocks() -> Iterator[Block]:
    for found in re.finditer(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        yield Block(found[1], found[2])


def shorter(command: str) -> str:
    for long, short in SHORTER.items():
        command = re.sub(rf"{re.escape(long)}$", short, command)
    return command


def words(text: str) -> set[str]:
    """Return the words; numbers vary, and so may the line breaks."""
    return set(re.findall(r"[A-Za-z_]{3,}", text))


def run_heddle(command: str) -> str:
    done = CliRunner().invoke(heddle, shlex.split(command)[1:])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0 or command.startswith(DIFFERS), f"{command}\n{done.output}"
    return done.output


def run_shell(command: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("here")
@pytest.mark.slow
def test_the_commands_print_what_the_page_shows(postgresql: Server) -> None:
    printed = ""
    with postgresql.running():
        environment = {**os.environ, **postgresql.environment()}
        for block in blocks():
            match block.language:
                case "sql":
                    postgresql.psql(block.content)
                case "bash":
                    printed = ""
                    for command in block.commands():
                        if command == RESTART:
                            postgresql.restart()
                        elif command.startswith("heddle "):
                            printed += run_heddle(command)
                        else:
                            printed += run_shell(command, environment)
                case "text":
                    assert words(block.content) <= words(printed), printed
                case other:
                    pytest.fail(f"{PAGE}: a block in {other}, which the test does not run")
        postgresql.psql("ALTER SYSTEM RESET ALL;")


def test_the_shortened_commands_are_on_the_page() -> None:
    lines = [line for one in blocks() if one.language == "bash" for line in one.content.split("\n")]
    for long in SHORTER:
        assert sum(line.endswith(long) for line in lines) == 1, long
