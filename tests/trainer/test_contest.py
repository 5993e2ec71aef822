from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.trainer import fake_engine as stand_in
from tests.trainer.fake_trials import FakeTrialPool
from tests.trainer.test_sweep import SMALL
from trainer.command.main import heddle

FOLDER = Path("runs/sweeps/mine")
FRESH = ["evaluation.backend=in_process", "threads.enabled=false", "rounds=2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two methods and two seeds, finished: made once."""
    folder = tmp_path_factory.mktemp("contest")
    settings = [text for text in SMALL if not text.startswith("search.")]
    settings += ["search.generations=null", "search.evaluations=60"]
    settings += ["machine=virtual", "machine.cores=4", "validation.enabled=false"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "engine", stand_in)
        patch.setattr("trainer.table_check.TrialPool", FakeTrialPool)
        patch.chdir(folder)
        done = run("train", "-m", *settings, "search=local,random", "seed=1,2", "sweep=mine")
    assert done.exit_code == 0, done.output
    return folder / "runs"


@pytest.fixture(autouse=True)
def elsewhere(
    runs: Path, fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """A copy of it, for each test."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(runs, "runs")
    return fake_engine


def run(*arguments: str) -> Result:
    return CliRunner().invoke(heddle, arguments, catch_exceptions=False)


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "contest.json").read_text())
    return found


def test_a_contest_of_two_methods(elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("contest", "sweep=mine", *FRESH)
    assert done.exit_code == 0, done.output
    (case,) = document()["cases"]
    names = [method["method"] for method in case["methods"]]
    assert sorted(names) == ["local", "random"]
    for method in case["methods"]:
        assert {run["seed"] for run in method["runs"]} == {1, 2}
        for one in method["runs"]:
            # Without noise a table is as good anew as it was, but for the reference's rounding.
            assert one["score"] == pytest.approx(one["trained"], rel=0.01)
            assert one["score"] <= case["best_known"]
    best = max(run["score"] for method in case["methods"] for run in method["runs"])
    assert case["best_known"] == pytest.approx(best)
    assert case["evaluations"] == 60
    assert len(case["pairs"]) == 1
    assert case["smallest_p"] == pytest.approx(1 / 3)
    assert "nothing here can be significant" in (FOLDER / "contest.md").read_text()
    assert (FOLDER / "contest-tpcc.png").stat().st_size > 1000

    def refuse(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("it was measured already")

    with monkeypatch.context() as patch:
        patch.setattr(elsewhere.Session, "run", refuse)
        again = run("contest", "sweep=mine", *FRESH)
    assert again.exit_code == 0, again.output


def test_the_best_of_each_method_runs_on_real_cores() -> None:
    brief = ["threads.repeats=2", "threads.cores=2", "threads.tuning.rounds=1"]
    done = run("contest", "sweep=mine", "evaluation.backend=in_process", "rounds=1", *brief)
    assert done.exit_code == 0, done.output
    (comparison,) = document()["on_threads"].values()
    names = [row["policy"] for row in comparison["results"]]
    assert names == ["silo_tuned", "silo", "local", "random"]
    assert all(row["machine"]["kind"] == "threads" for row in comparison["results"])
    assert "2 real cores" in done.output


def test_a_contest_interrupted_keeps_what_it_measured(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, left = elsewhere.Session.run, [3]

    def cut(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise elsewhere.Interrupted
        return measure(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(elsewhere.Session, "run", cut)
        assert run("contest", "sweep=mine", *FRESH).exit_code == 130
    (samples,) = json.loads((FOLDER / "fresh.json").read_text())["samples"].values()
    assert sum(len(taken) for taken in samples.values()) == 2
    assert run("contest", "sweep=mine", *FRESH).exit_code == 0


def test_a_contest_of_nothing_says_what_to_do() -> None:
    for arguments, words in (
        (["contest"], "name the sweep"),
        (["contest", "sweep=nosuch"], "no such sweep"),
        (["contest", "sweep=mine", "share=2"], "share=2"),
        (["contest", "sweep=mine", "rounds=0"], "rounds=0"),
        (["contest", "sweep=mine", "seed=2"], "seed=2: is a run's own"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert words in done.output
