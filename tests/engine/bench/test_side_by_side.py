"""The side-by-side benchmark, on made-up engines."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "engine" / "bench" / "side_by_side.py"
CELL = ["--only", "tpcc full 1w 1t", "--rounds", "3", "--seconds", "0.01"]


def _program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def _run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_two_engines_are_compared_round_by_round(tmp_path: Path) -> None:
    this = _program(tmp_path / "this", """echo '{"throughput": 3000}'""")
    before = _program(tmp_path / "before", """echo '{"throughput": 2000}'""")
    peer = _program(tmp_path / "peer", 'echo "$1 $2: 1,000 txns/sec"')
    others = ["--other", f"before={before}", "--other", f"peer={peer} {{warehouses}} {{threads}}"]
    done = _run(this, *others, "--pattern", "1 1: ([0-9,]+) txns", "--factor", "1.5", *CELL)
    assert done.returncode == 0, done.stderr
    rows = [" ".join(row.split()) for row in done.stdout.splitlines()]
    assert rows == [
        "tpcc full 1w 1t this 3,000 (3,000 to 3,000)",
        "tpcc full 1w 1t before 2,000 (2,000 to 2,000) this ÷ it: 1.500 (1.500 to 1.500)",
        "tpcc full 1w 1t peer 1,500 (1,500 to 1,500) this ÷ it: 2.000 (2.000 to 2.000)",
    ]


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["--other", "peer"], "--other peer"),
        (["--other", "peer=run {threads}"], "--pattern"),
        (["--other", "peer=run {cores}", "--pattern", "(.)"], "{threads}"),
        (["--other", "peer=run it", "--pattern", "("], "--pattern ("),
        (["--other", "peer=run it", "--pattern", "x"], "one group"),
        (["--other", "peer=/nowhere"], "/nowhere"),
        (["--other", "peer=false it", "--pattern", "(.)"], "exit code 1"),
        (["--other", "peer=echo it", "--pattern", "([0-9])"], "prints nothing like"),
        (["--rounds", "1"], "--rounds"),
        (["--only", "nothing"], "--only nothing"),
    ],
)
def test_errors_name_the_cause(tmp_path: Path, words: list[str], culprit: str) -> None:
    this = _program(tmp_path / "this", """echo '{"throughput": 3000}'""")
    done = _run(this, *CELL, *words)
    assert done.returncode == 1
    assert culprit in done.stderr
    assert "Traceback" not in done.stderr
