"""Commands load only the libraries that they use."""

from __future__ import annotations

import subprocess
import sys
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
        "runs list",
    ],
)
def test_a_command_that_measures_nothing_loads_no_slow_library(words: str, tmp_path: Path) -> None:
    (tmp_path / "workload.json").write_text(WORKLOAD)
    program = (
        "import sys\n"
        "from trainer.command.main import main\n"
        f"sys.argv = ['heddle', *{words.split()!r}]\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as ended:\n"
        "    assert not ended.code, ended.code\n"
        f"print('loaded', sorted({set(SLOW)!r} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.endswith("loaded []\n"), done.stdout[-300:] + done.stderr
