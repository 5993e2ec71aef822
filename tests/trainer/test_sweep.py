from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from omegaconf import OmegaConf

from tests.trainer.test_command import QUICK
from tests.waiting import wait_until
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle
from trainer.command.settings import swept_by_config
from trainer.command.sweep import split_axes
from trainer.mlflow_store import MlflowStore
from trainer.record import PARENT, Record
from trainer.search import SEARCHES
from trainer.sweep_folder import Sweep, SweepRun, find_sweep, new_sweep

ROOT = Path(__file__).resolve().parents[2]
SMALL = [
    *QUICK,
    "search=evolution",
    "search.generations=2",
    "search.parents=2",
    "search.children=2",
    "baselines=[silo]",
    "evaluation.rungs=[1]",
]
SWEEP = Path("runs/sweeps/mine")


@pytest.fixture(autouse=True)
def elsewhere(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    return fake_engine


def train(*arguments: str) -> Result:
    return CliRunner().invoke(heddle, ["train", *arguments], catch_exceptions=False)


def written() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SWEEP / "sweep.json").read_text())
    return document


def states() -> list[str]:
    return [run["state"] for run in written()["runs"]]


def times() -> dict[str, int]:
    """Return the time at which each run's checkpoint was last written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in SWEEP.glob("*/checkpoint.json")}


@pytest.mark.slow
def test_each_combination_has_one_run() -> None:
    done = train("-m", *SMALL, "seed=1,2", "workload.warehouses=1,2", "sweep=mine")
    assert done.exit_code == 0, done.output
    assert states() == ["finished"] * 4
    configs = [OmegaConf.load(path) for path in sorted(SWEEP.glob("*/config.yaml"))]
    found = [(config.seed, config.workload.warehouses) for config in configs]
    assert found == [(1, 1), (1, 2), (2, 1), (2, 2)]
    before = times()
    again = train("-m", "sweep=mine")
    assert again.exit_code == 0, again.output
    assert "4 runs, 4 finished" in again.output
    assert times() == before
    more = train("-m", "sweep=mine", "seed=3")
    assert more.exit_code == 0, more.output
    assert states() == ["finished"] * 6
    assert before.items() <= times().items()


@pytest.mark.slow
def test_a_sweep_resumes_with_its_search() -> None:
    """The present default search is another one."""
    assert train("-m", *SMALL, "seed=1", "sweep=mine", "search.children=2,3").exit_code == 0
    document = written()
    document["settings"] = [one for one in document["settings"] if not one.startswith("search")]
    for one in document["runs"][1:]:
        one.update(state="waiting", folder=None)
    (SWEEP / "sweep.json").write_text(json.dumps(document))
    done = train("-m", "sweep=mine", "search.children=4")
    assert done.exit_code == 0, done.output
    for folder in SWEEP.glob("*-seed1"):
        search = OmegaConf.load(folder / "config.yaml").search
        assert (search.name, search.parents, search.generations) == ("evolution", 2, 2)
    assert states() == ["finished"] * 3


def test_a_mistake_in_the_last_run_is_reported_before_the_first() -> None:
    """This includes a mistake that only the search itself detects."""
    done = train("-m", *SMALL, "search.decay=0.9,40", "sweep=mine")
    assert done.exit_code == 2
    assert "search.decay=40.0: must be above 0 and at most 1" in done.output
    assert not SWEEP.exists()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["seed=range(1,5,0)"], "seed=range(1,5,0): "),
        (["seed=range(1,10**9)"], "seed=range(1,10**9): "),
        (["seed=range(1,1000000000)"], "has more than 10000 values"),
    ],
)
def test_values_that_cannot_be_listed_are_refused(typed: list[str], told: str) -> None:
    done = train("-m", *SMALL, *typed)
    assert done.exit_code == 2, done.output
    assert told in done.output


def test_several_values_without_multirun_are_reported() -> None:
    done = train(*SMALL, "seed=1,2")
    assert done.exit_code == 2
    assert "seed=1,2: takes one value; add -m for one run per value" in done.output
    shown = train("-m", "--settings", "seed=3,4")
    assert shown.exit_code == 0, shown.output
    assert "seed: 3" in shown.output


@pytest.mark.parametrize(("field", "value"), [("settings", 5), ("settings", [5]), ("axes", [[]])])
def test_a_damaged_sweep_is_reported(field: str, value: Any) -> None:
    SWEEP.mkdir(parents=True)
    Sweep(SWEEP, settings=["seed=1"], runs=[SweepRun({"seed": "1"})]).save()
    document = json.loads((SWEEP / "sweep.json").read_text())
    (SWEEP / "sweep.json").write_text(json.dumps(document | {field: value}))
    done = train("-m", "sweep=mine")
    assert done.exit_code == 2
    assert "sweep.json: is damaged" in done.output


def test_sweeps_that_begin_at_once_have_a_folder_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sweeps start in the same second, before either has created its folder."""
    monkeypatch.setattr("trainer.sweep_folder.time_stamp", lambda: "2026-03-01_09-00-00")
    monkeypatch.setattr(Path, "exists", lambda path: False)
    begun = [new_sweep(tmp_path, None).path for _ in range(3)]
    assert len(set(begun)) == 3
    assert all(path.is_dir() for path in begun)


@pytest.mark.parametrize(
    "typed", [["train", "-m", "sweep=mine"], ["lab", "searches", "sweep=mine"]]
)
def test_a_sweep_without_runs_is_damaged(typed: list[str]) -> None:
    SWEEP.mkdir(parents=True)
    Sweep(SWEEP, settings=["seed=1"]).save()
    done = CliRunner().invoke(heddle, typed, catch_exceptions=False)
    assert done.exit_code == 2
    assert "sweep.json: is damaged (ValueError: it has no runs)" in done.output


@pytest.mark.slow
def test_ctrl_c_ends_the_sweep_and_it_can_resume(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, left = elsewhere.Session.run, [0]

    def cut(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise elsewhere.Interrupted
        return measure(*arguments, **named)

    monkeypatch.setattr(elsewhere.Session, "run", cut)
    done = train("-m", *SMALL, "seed=1,2,3", "sweep=straight")
    assert done.exit_code == 0, done.output
    runs = -left[0]
    left[0] = runs // 2
    done = train("-m", *SMALL, "seed=1,2,3", "sweep=mine")
    assert done.exit_code == 130
    assert "resume with: heddle train -m sweep=runs/sweeps/mine" in done.output
    assert states() == ["finished", "begun", "waiting"]
    finished = times()["001-tpcc-evolution-seed1"]
    done = train("-m", "sweep=mine")
    assert done.exit_code == 0, done.output
    assert states() == ["finished"] * 3
    assert times()["001-tpcc-evolution-seed1"] == finished
    for path in SWEEP.glob("*/checkpoint.json"):
        mine = Checkpoint.load(path.parent)
        straight = Checkpoint.load(Path("runs/sweeps/straight") / path.parent.name)
        assert (mine.search, mine.samples) == (straight.search, straight.samples)


@pytest.mark.slow
def test_ctrl_c_while_mlflow_starts_shows_how_to_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Record, "start", cut)
        done = train("-m", *SMALL, "seed=1,2", "sweep=mine")
    assert done.exit_code == 130
    assert (
        "0 of 2 runs finished; resume with: heddle train -m sweep=runs/sweeps/mine" in done.output
    )
    done = train("-m", "sweep=mine")
    assert done.exit_code == 0, done.output
    assert states() == ["finished"] * 2


@pytest.mark.slow
def test_a_sweep_and_its_runs_are_recorded_in_one_store(
    elsewhere: ModuleType, empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep is also resumed as shown, without `runs_dir`, and with a store created later."""
    measure, last = elsewhere.Session.run, Path("elsewhere/sweeps/mine/002-tpcc-evolution-seed2")

    def cut(*arguments: Any, **named: Any) -> Any:
        if (last / "checkpoint.json").exists():
            raise elsewhere.Interrupted
        return measure(*arguments, **named)

    shutil.copytree(empty_store, "elsewhere")
    recorded = [one for one in SMALL if not one.startswith("mlflow")]
    with monkeypatch.context() as patch:
        patch.setattr(elsewhere.Session, "run", cut)
        done = train("-m", *recorded, "seed=1,2", "sweep=mine", "runs_dir=elsewhere")
    assert done.exit_code == 130, done.output
    typed = done.output.strip().rpartition("resume with: heddle train ")[2].split()
    parents = [Sweep.load(last.parent).mlflow_run_id]
    done = train(*typed)
    assert done.exit_code == 0, done.output
    parents.append(Sweep.load(last.parent).mlflow_run_id)
    assert parents[0] == parents[1]
    assert not Path("runs").exists()
    other = f"sqlite:///{tmp_path}/other.db"
    done = train(*typed, "seed=3", f"mlflow.uri={other}")
    assert done.exit_code == 0, done.output
    parents.append(Sweep.load(last.parent).mlflow_run_id)
    stores = [MlflowStore(uri, Path("elsewhere")).connect() for uri in (None, None, other)]
    for number, client, parent in zip((1, 2, 3), stores, parents, strict=True):
        (folder,) = last.parent.glob(f"*seed{number}")
        child = client.get_run(Checkpoint.load(folder).mlflow_run_id)
        assert child.data.tags[PARENT] == parent
        assert client.get_run(parent).info.status == "FINISHED"


@pytest.mark.slow
def test_a_failing_run_does_not_prevent_others(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = elsewhere.Session.run

    def failing(session: Any, *arguments: Any, **named: Any) -> Any:
        if session.workload["warehouses"] == "2":
            raise elsewhere.EngineError("worker 0 is stuck")
        return measure(session, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(elsewhere.Session, "run", failing)
        done = train("-m", *SMALL, "workload.warehouses=1,2,3", "sweep=mine")
    assert done.exit_code == 1
    assert states() == ["finished", "failed", "finished"]
    assert "failed: workload.warehouses=2" in done.output
    assert "worker 0 is stuck" in done.output
    done = train("-m", "sweep=mine")
    assert done.exit_code == 0, done.output
    assert states() == ["finished"] * 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sweep=mine"], "add -m"),
        (["-m", "sweep=nosuch"], "no such sweep"),
        (["-m", "sweep=mine", "workload.warehouses=2"], "differs from the settings of"),
        (["-m", "sweep=mine", "search.generations=1,2"], "differs from the settings of"),
        (["-m", "sweep=mine", "seed=x"], "seed=x"),
        (["-m", "sweep=mine", "resume=other"], "leave out -m"),
        (["-m", *SMALL, "sweep=", "seed=1,2"], "sweep=: is not a name of a sweep; write one"),
        (["-m", *SMALL, "sweep=.", "seed=1,2"], "sweep=.: is not a name of a sweep"),
        (["-m", *SMALL, "sweep=..", "seed=1,2"], "sweep=..: is not a name of a sweep"),
        (["-m", *SMALL, "sweep=mine/..", "seed=1,2"], "sweep=mine/..: is not a name of a sweep"),
        (["-m", "seed=1,2", "hydra.sweep.dir=x"], "hydra.sweep.dir=x: can't be set"),
        (["-m", "seed=interval(1,5)"], "list the values"),
        (["-m", "seed=1,2", "search=evolution,nosuch"], "nosuch"),
        (["experiment=factor_analysis"], "is a sweep over search.actions; add -m"),
        (["experiment=search_contest"], "is a sweep over seed, case, search; add -m"),
    ],
)
def test_invalid_sweeps_are_refused(arguments: list[str], words: str) -> None:
    SWEEP.mkdir(parents=True)
    sweep = Sweep(SWEEP, list(SMALL))
    sweep.extend({"seed": ["1"]})
    sweep.save()
    done = train(*arguments)
    assert done.exit_code == 2, done.output
    assert words in done.output
    assert len(done.output.splitlines()) < 4 or "Groups:" in done.output


def test_damaged_files_of_a_sweep_are_named() -> None:
    SWEEP.mkdir(parents=True)
    for text in ("", "{", "[]", '{"schema_version": 9, "runs": []}', '{"schema_version": 1}'):
        (SWEEP / "sweep.json").write_text(text)
        done = train("-m", "sweep=mine")
        assert done.exit_code == 2, done.output
        assert "sweep.json" in done.output


def test_the_contest_has_every_method_on_every_workload() -> None:
    swept = swept_by_config("train", ["experiment=search_contest"])
    assert sorted(swept["case"].split(",")) == ["micro", "tpcc_1", "tpcc_16", "tpcc_4", "ycsb"]
    methods = ["evolution", "guided", "local", "policy_gradient", "random", "reduction"]
    assert set(methods) <= SEARCHES.keys()
    # One search also has settings for few evaluations, and takes part with both.
    assert sorted(swept["search"].split(",")) == sorted([*methods, "evolution_quick"])
    assert len(swept["seed"].split(",")) >= 5


def test_the_brief_contest_is_part_of_the_full_one() -> None:
    whole = swept_by_config("train", ["experiment=search_contest"])
    brief = swept_by_config("train", ["experiment=search_contest_brief"])
    assert list(brief) == list(whole), "seed by seed as well"
    for axis, values in brief.items():
        assert set(values.split(",")) <= set(whole[axis].split(","))


@pytest.mark.slow
def test_a_contest_runs_seed_by_seed() -> None:
    """A contest that ends early has as many runs of every method, in any order of arguments."""
    contest = ["experiment=search_contest", "search=local,random", "case=tpcc_1"]
    for typed in (["seed=1"], ["seed=1,2"]):
        _, axes = split_axes([*contest, *typed])
        values = typed[0].removeprefix("seed=").split(",")
        assert list(axes.items()) == [
            ("seed", values),
            ("case", ["tpcc_1"]),
            ("search", ["local", "random"]),
        ]
    _, single = split_axes(["experiment=search_contest", "search=random", "case=tpcc_1", "seed=3"])
    assert single == {"seed": ["3"], "case": ["tpcc_1"], "search": ["random"]}
    assert split_axes(["seed=1", "search=random"])[1] == {}, "nothing sweeps these"


@pytest.mark.slow
def test_a_killed_sweep_resumes(tmp_path: Path) -> None:
    """A sweep killed in its second run does not repeat the first one."""
    program = (
        "import pytest; from tests.trainer.stand_in import use_stand_in\n"
        "use_stand_in(pytest.MonkeyPatch()).SECONDS_PER_RUN = 0.003\n"
        "from trainer.command.main import main; main()\n"
    )
    arguments = ["train", "-m", *SMALL, "seed=1,2,3", "sweep=mine"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
    second = SWEEP / "002-tpcc-evolution-seed2" / "checkpoint.json"
    try:
        wait_until(lambda: second.exists() or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert states() == ["finished", "begun", "waiting"]
    finished = times()["001-tpcc-evolution-seed1"]
    done = train("-m", "sweep=mine")
    assert done.exit_code == 0, done.output
    assert states() == ["finished"] * 3
    assert times()["001-tpcc-evolution-seed1"] == finished
    assert find_sweep(Path("runs"), "mine") is not None
