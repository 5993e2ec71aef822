"""The smallest real training on virtual cores: the command on the compiled engine takes seconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from policies import load
from trainer.checkpoint import Checkpoint

ROOT = Path(__file__).resolve().parents[2]

TINY = (
    "machine=virtual",
    "machine.cores=2",
    "search=evolution",
    "search.generations=6",
    "search.parents=2",
    "search.children=2",
    "evaluation.backend=in_process",
    "evaluation.slice_seconds=0.002",
    "evaluation.warmup_seconds=0.0005",
    "evaluation.rungs=[1,1]",
    "tuning.slice_seconds=0.002",
    "tuning.warmup_seconds=0.0005",
    "tuning.rounds=1",
    "tuning.finalists=2",
    "tuning.final_rounds=1",
    "champion.finalists=2",
    "champion.rounds=1",
    "champion.slice_seconds=0.002",
    "champion.warmup_seconds=0.0005",
    "run.seconds=0.002",
    "run.repeats=1",
    "run.warmup=0.0005",
    "baselines=[silo]",
    "validation.enabled=false",
    "check.enabled=false",
    "mlflow.enabled=false",
    "report.enabled=false",
    "forecast=false",
)


def start_training(folder: Path, *arguments: str, first: str = "") -> subprocess.Popen[str]:
    """Start `heddle train` in its own process and session.

    Args:
        folder: the working directory; `runs` is created in it.
        arguments: settings.
        first: Python that the process runs before the command, once the engine is loaded (which may
            write to its build's log).
    """

    program = ["-m", "trainer.command.main"]
    if first:
        program = ["-c", f"import engine\n{first}\nfrom trainer.command.main import main\nmain()"]
    return subprocess.Popen(
        [sys.executable, *program, "train", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run_of(folder: Path) -> Path:
    """Return the folder of the only run."""
    (found,) = (folder / "runs").glob("*seed*")
    return found


def found(folder: Path) -> list[Any]:
    """Return the results of a run: its table, the figures of each generation, and its samples."""
    state, policy = Checkpoint.load(folder), load(folder / "policy.json")
    figures = [(one.best, one.median, one.worst, one.origin) for one in state.history]
    scores = [policy.provenance[key] for key in ("scores", "evaluations", "generations", "origin")]
    return [policy.cc, policy.backoff, scores, figures, state.samples, state.search, state.tuned_us]


def generations(folder: Path) -> int:
    """Return the number of completed generations of the only run."""
    if not list(folder.glob("runs/*seed*")):
        return 0
    return len(Checkpoint.load(run_of(folder)).history)
