"""Integration: the commands on the compiled engine, with tiny budgets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from policies import load
from tests.processes import cpu_seconds
from tests.slow import some_slow
from tests.waiting import PATIENCE_S, wait_until
from trainer.checkpoint import Checkpoint

ROOT = Path(__file__).resolve().parents[2]

TINY = [
    "search=evolution",
    "search.generations=2",
    "search.parents=2",
    "search.children=2",
    "evaluation.backend=in_process",
    "evaluation.slice_seconds=0.02",
    "evaluation.rungs=[1]",
    "tuning.slice_seconds=0.02",
    "tuning.rounds=1",
    "tuning.final_rounds=1",
    "champion.finalists=2",
    "champion.rounds=1",
    "champion.slice_seconds=0.02",
    "run.seconds=0.05",
    "run.repeats=2",
    "run.warmup=0.01",
    "validation.seconds=0.05",
    "validation.repeats=2",
    "validation.warmup=0.01",
    "validation.cores=2",
    "validation.tuning.slice_seconds=0.02",
    "validation.tuning.rounds=1",
    "validation.tuning.final_rounds=1",
    "mlflow.enabled=false",
    "report.enabled=false",
    "verdict.repeats_max=null",
    "forecast=false",
    "machine.cores=2",
    "baselines=[silo,silo_tuned,ic3]",
]


VIRTUAL = [
    "machine=virtual",
    "evaluation.slice_seconds=0.002",
    "tuning.slice_seconds=0.002",
    "tuning.warmup_seconds=0.0005",
    "champion.slice_seconds=0.002",
    "champion.warmup_seconds=0.0005",
    "run.seconds=0.004",
    "run.warmup=0.001",
]
"""A second on virtual cores takes about a minute of real time."""


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """Start the command in its own process, which receives Ctrl-C.

    A shell without job control makes background processes ignore Ctrl-C, and children inherit
    that.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "trainer.command.main", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output


@pytest.mark.parametrize("workload", ["tpcc", pytest.param("ycsb", marks=pytest.mark.full)])
def test_train_from_nothing_to_a_policy(tmp_path: Path, workload: str) -> None:
    small = {"tpcc": [], "ycsb": ["workload.records=10000"]}[workload]
    code, output = finish(start("train", *TINY, f"workload={workload}", *small, cwd=tmp_path))
    assert code == 0, output
    (folder,) = (tmp_path / "runs").glob("*seed1")
    document = load(folder / "policy.json")
    assert document.signature.workload == workload
    comparison = json.loads((folder / "comparison.json").read_text())
    assert comparison["results"][-1]["policy"] == "learned"
    assert comparison["violations"] == []
    code, output = finish(start("train", f"resume={folder}", "search.generations=3", cwd=tmp_path))
    assert code == 0, output
    assert len(Checkpoint.load(folder).history) == 3


@pytest.mark.slow
def test_train_on_virtual_cores_and_compare_on_both_machines(tmp_path: Path) -> None:
    # Other programs may use the real cores for a while.
    more = ["validation.seconds=0.15", "check.enabled=false"]
    code, output = finish(start("train", *TINY, *VIRTUAL, *more, cwd=tmp_path))
    assert code == 0, output
    (folder,) = (tmp_path / "runs").glob("*seed1")
    for name, kind in (("comparison", "virtual"), ("validation", "threads")):
        document = json.loads((folder / f"{name}.json").read_text())
        assert document["violations"] == []
        assert {row["machine"]["kind"] for row in document["results"]} == {kind}
        assert all(
            repeat["commits"] > 0 for row in document["results"] for repeat in row["repeats"]
        )
    provenance = load(folder / "policy.json").provenance
    assert provenance["scores"].keys() == provenance["scores_on_threads"].keys()


# Three trainings; `test_robust.py` runs them on the stand-in engine in every suite.
@pytest.mark.full
@pytest.mark.parametrize(
    ("workload", "setting", "values"),
    [
        (["workload=ycsb", "workload.records=1000"], "theta", ("0.5", "0.9")),
        (["workload=tpcc"], "warehouses", ("1", "2")),
    ],
    ids=["ycsb", "tpcc"],
)
def test_one_table_for_two_workloads_on_virtual_cores(
    workload: list[str], setting: str, values: tuple[str, ...], tmp_path: Path
) -> None:
    mix = [
        *workload,
        *VIRTUAL,
        "baselines=[silo]",
        "tuning.finalists=1",
        "check.enabled=false",
        f"robust.scenarios=[{{workload.{setting}:[{','.join(values)}]}}]",
        "robust.combine=worst",
    ]
    off = "validation.enabled=false"
    code, output = finish(start("train", *TINY, *mix, off, cwd=tmp_path))
    assert code == 0, output
    (folder,) = (tmp_path / "runs").glob("*seed1")
    scenarios = load(folder / "policy.json").provenance["scenarios"]
    for number, scenario in enumerate(scenarios, start=1):
        document = json.loads((folder / f"scenario-{number}" / "comparison.json").read_text())
        assert document["violations"] == []
        assert document["workload"] == scenario["workload"]
        assert document["workload"][setting] == values[number - 1]
        learned = document["results"][-1]
        assert learned["policy"] == "learned"
        assert all(repeat["commits"] > 0 for repeat in learned["repeats"])
    whole = trace_of(folder)
    other = tmp_path / "again"
    other.mkdir()
    for generations in (1, 2):  # stopped after one generation, and resumed
        resume = [f"resume={next((other / 'runs').glob('*seed1'))}"] if generations > 1 else []
        arguments = resume or [*TINY, *mix, off]
        limit = f"search.generations={generations}"
        code, output = finish(start("train", *arguments, limit, cwd=other))
        assert code == 0, output
    (folder,) = (other / "runs").glob("*seed1")
    assert trace_of(folder) == whole


def trace_of(folder: Path) -> list[object]:
    """Return the history of a search, without times."""
    state = Checkpoint.load(folder)
    fitness = [(one.best, one.median, one.scores) for one in state.history]
    return [state.tuned_us, state.search, state.samples, fitness]


# On virtual cores the run has its own process, and its seconds are not those of the clock.
@pytest.mark.parametrize(
    "machine",
    some_slow([["machine=threads"], ["machine=virtual", "machine.cores=8"]], [["machine=threads"]]),
)
def test_ctrl_c_ends_a_long_run_soon_and_keeps_its_results(
    tmp_path: Path, machine: list[str]
) -> None:
    lengths = ["run.seconds=1000", "run.warmup=0.01", "run.repeats=1"]
    written = tmp_path / "out.json"
    # Processor time after which a run measures; a slow machine takes longer to prepare memory.
    for prepared_s in (2.0, 8.0, 32.0):
        arguments = [*machine, "policy=silo", *lengths, "output=out.json"]
        process = start("evaluate", *arguments, cwd=tmp_path)
        try:
            _wait_until_it_measures(process, prepared_s)
            process.send_signal(signal.SIGINT)
            pressed = time.monotonic()
            code, output = finish(process)
            took = time.monotonic() - pressed
        finally:
            process.kill()
        assert code == 130, output
        assert took < 60.0
        if written.exists():
            break
    (row,) = json.loads(written.read_text())["results"]
    assert f"machine={row['machine']['kind']}" == machine[0]
    assert row["repeats"][0]["commits"] > 0
    assert row["repeats"][0]["duration_s"] < 900.0


def _wait_until_it_measures(process: subprocess.Popen[str], prepared_s: float) -> None:
    """Wait for the output "compare", then until the process has used `prepared_s` of a core."""
    assert process.stdout is not None
    assert any("compare" in line for line in process.stdout)
    end = cpu_seconds(process.pid) + prepared_s
    wait_until(lambda: cpu_seconds(process.pid) > end or process.poll() is not None)
