"""Commands load only the libraries that they use."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

SLOW = (
    "duckdb",
    "matplotlib",
    "mlflow",
    "optuna",
    "pandas",
    "pyarrow",
    "ray",
    "scipy",
    "sklearn",
    "sqlglot",
    "torch",
)
"""Libraries that take more than a tenth of a second to load."""

WORKLOAD = '[[["r", "a"], ["w", "b"]], [["w", "a"]]]'


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "evaluate --help",
        "evaluate --settings",
        "train --settings",
        "check --settings",
        "policy show occ",
        "policy list",
        "lab makespan --input workload.json",
        "machine calibrate --settings",
        "nightly --help",
        "nightly --settings",
        "runs list",
    ],
)
def test_a_command_that_measures_nothing_loads_no_slow_library(words: str, tmp_path: Path) -> None:
    assert _loaded(words, SLOW, tmp_path) == "[]"


@pytest.mark.parametrize("words", ["train --settings", "policy list", "runs list"])
@pytest.mark.slow
def test_a_command_that_runs_no_search_loads_no_library_of_one(words: str, tmp_path: Path) -> None:
    assert _loaded(words, ("deap", "moocore"), tmp_path) == "[]"


@pytest.mark.parametrize("words", ["runs list", "policy show occ", "lab makespan --help"])
@pytest.mark.slow
def test_a_command_without_settings_loads_no_hydra(words: str, tmp_path: Path) -> None:
    assert _loaded(words, ("hydra",), tmp_path) == "[]"


def _loaded(words: str, libraries: Sequence[str], tmp_path: Path) -> str:
    """Return those of the libraries that a command has loaded, as text."""
    (tmp_path / "workload.json").write_text(WORKLOAD)
    program = (
        "import sys\n"
        "from trainer.command.main import main\n"
        f"sys.argv = ['heddle', *{words.split()!r}]\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as ended:\n"
        "    assert not ended.code, ended.code\n"
        f"print('loaded', sorted({set(libraries)!r} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    return done.stdout.rstrip().rpartition("loaded ")[2]
