"""docs/postgresql-tutorial.md, from top to bottom: its commands run, and print what it says.

The commands are read from the page. Only the lengths of runs are others, as `SHORTER` says.
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
"""Of a training: its cores, what it is compared with, and that it is made on real cores too."""

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
"""What is replaced at the end of commands; each ends one of them."""

DIFFERS = "heddle policy diff"
"""Its exit code says whether policies differ: any will do."""


@dataclass(frozen=True)
class Block:
    """What is between two fences.

    Attributes:
        language: that the first fence names; `text` is what the commands before it print.
        content: the lines.
    """

    language: str
    content: str

    def commands(self) -> list[str]:
        """Each on one line, without leave to become another user, and shorter."""
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
    """Numbers are others every time, and so may be where a line breaks."""
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
def test_the_page_does_what_it_says(postgresql: Server) -> None:
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
                    pytest.fail(f"{PAGE}: a block in {other}, which nobody runs")
        postgresql.psql("ALTER SYSTEM RESET ALL;")


def test_what_is_shortened_is_on_the_page() -> None:
    lines = [line for one in blocks() if one.language == "bash" for line in one.content.split("\n")]
    for long in SHORTER:
        assert sum(line.endswith(long) for line in lines) == 1, long
