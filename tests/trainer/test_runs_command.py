"""`heddle runs`: lists, compares, tags and removes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from policies import load
from tests.trainer.fake_run import settings
from tests.trainer.stand_in import use_stand_in
from tests.trainer.test_command import run
from tests.trainer.test_report import saved_run
from trainer.checkpoint import Checkpoint
from trainer.config import MlflowConfig
from trainer.lock import held
from trainer.mlflow_store import MlflowStore
from trainer.record import Record
from trainer.report.saved_run import read_run
from trainer.run_folder import RunFolder
from trainer.sweep_folder import Sweep, SweepRun


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return runs that tests only read: two, and one of a sweep."""
    path = tmp_path_factory.mktemp("made") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        use_stand_in(patch)
        saved_run(path / "one", settings(1), ["seed=3"])
        saved_run(path / "two", settings(1, seed=4), ["seed=4"])
    sweep = Sweep(path / "sweeps" / "mine", axes={"seed": ["3"]}, runs=[SweepRun({"seed": "3"})])
    shutil.copytree(path / "one", sweep.path / "001-tpcc")
    sweep.runs[0].folder = "001-tpcc"
    sweep.save()
    (path / "notes").mkdir()
    return path


@pytest.fixture
def runs(
    fake_engine: ModuleType, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Copy the runs into the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, tmp_path / "runs")
    return Path("runs")


def write_verdict(run: RunFolder) -> None:
    """Write a verdict as `heddle train` does; the comparison of the stand-in has none."""
    verdict = read_run(run).scenarios[0].verdict
    assert verdict is not None
    document = json.loads(run.comparison.read_text())
    # A single run has no interval, and the ratio of a verdict can differ from the median.
    document["verdict"] = replace(verdict, ratio=1.2345678).as_dict()
    run.comparison.write_text(json.dumps(document))


def listed(*typed: str) -> list[dict[str, Any]]:
    done = run("runs", "list", "--format", "json", *typed)
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_runs_and_runs_of_sweeps_are_listed(runs: Path) -> None:
    write_verdict(RunFolder(runs / "one"))
    found = {one["name"]: one for one in listed()}
    assert found.keys() == {"one", "two", "sweeps/mine/001-tpcc"}
    for name in ("one", "two"):  # one run of today, and one without a saved verdict
        page = read_run(RunFolder(runs / name)).best
        assert page is not None
        assert found[name]["baseline"] == page[0]
        assert found[name]["score"] == pytest.approx(page[1], abs=0.0 if name == "one" else 1e-4)
    assert (found["two"]["seed"], found["two"]["typed"]) == (4, ["seed=4"])
    assert found["two"]["machine"] == "2 real cores"
    assert {one["state"] for one in found.values()} == {"finished"}
    table = run("runs", "list").output
    assert all(name in table for name in found)
    assert "notes" not in table
    assert len(listed("-n", "1")) == 1


def test_incomplete_runs_are_listed(runs: Path) -> None:
    (runs / "one" / "comparison.json").unlink()
    (runs / "two" / "policy.json").write_text("{")
    with held(runs / "sweeps" / "mine" / "001-tpcc"):
        states = {one["name"]: one["state"] for one in listed()}
    assert states == {
        "one": "not finished",
        "two": "damaged",
        "sweeps/mine/001-tpcc": "running",
    }
    shutil.rmtree(runs)
    assert run("runs", "list").output == "no runs in runs\n"


def test_runs_are_compared_by_results_and_differences(runs: Path) -> None:
    done = run("runs", "compare", "one", "two", "--format", "json")
    assert done.exit_code == 0, done.output
    one, two = json.loads(done.stdout)
    assert (one["settings"], two["settings"]) == ({"seed": "3"}, {"seed": "4"})
    comparison = json.loads((runs / "one" / "comparison.json").read_text())
    rates = {row["policy"]: row["throughput"] for row in comparison["results"]}
    assert one["results"]["learned, commits/s"] == f"{rates['learned']:,.0f}"
    assert "learned ÷ silo" in two["results"]
    table = run("runs", "compare", "one", "two").output
    assert "Settings that differ" in table
    assert run("runs", "compare", "one").exit_code == 2
    done = run("runs", "compare", "one", "one")
    assert (done.exit_code, "one: is named twice" in done.output) == (2, True)
    done = run("runs", "compare", "one", "mine")
    assert (done.exit_code, "mine: is a sweep; name its runs" in done.output) == (2, True)
    done = run("runs", "compare", "one", "nothing")
    assert (done.exit_code, "nothing: no such run" in done.output) == (2, True)


def test_tags_are_added_removed_and_filtered_by(runs: Path) -> None:
    assert run("runs", "tag", "one", "two", "kept", "ticket=42").exit_code == 0
    done = run("runs", "tag", "one", "--untag", "kept", "note=a=b")
    assert "runs/one: ticket=42, note=a=b" in done.output
    assert [one["name"] for one in listed("--tag", "kept")] == ["two"]
    assert {one["name"] for one in listed("--tag", "ticket=42")} == {"one", "two"}
    assert listed("--tag", "ticket=4") == []
    for typed in (["one"], ["nothing", "kept"], ["one", "a?b=1"], ["one", "=x"]):
        done = run("runs", "tag", *typed)
        assert (done.exit_code, done.output.startswith("error: ")) == (2, True), done.output


def test_only_the_named_run_is_removed(runs: Path) -> None:
    from click.testing import CliRunner

    from trainer.command.main import heddle

    done = CliRunner().invoke(heddle, ["runs", "remove", "one"], input="n\n")
    assert (done.exit_code, (runs / "one").exists()) == (1, True)
    (runs / "link").symlink_to("one")
    assert run("runs", "remove", "--yes", "link").exit_code == 2
    assert run("runs", "remove", "--yes", "notes").exit_code == 2
    assert run("runs", "remove", "--yes", ".").exit_code == 2
    with held(runs / "one"):
        done = run("runs", "remove", "--yes", "one", "two")
    assert done.exit_code == 1
    assert "another process uses this folder" in done.output
    assert ((runs / "one").exists(), (runs / "two").exists()) == (True, False)
    (runs / ".removed-old").mkdir()  # an interrupted removal
    assert run("runs", "remove", "--yes", "sweeps/mine/001-tpcc", "one").exit_code == 0
    assert sorted(path.name for path in runs.iterdir()) == ["link", "notes", "sweeps"]


def test_the_record_is_tagged_and_deleted_with_the_run(runs: Path, empty_store: Path) -> None:
    """The record has the tags and is deleted with the run, unless it has a registered policy."""
    shutil.copytree(empty_store, runs, dirs_exist_ok=True)
    client = MlflowStore(None, runs).connect()
    ids = {}
    for name in ("one", "two"):
        record = Record(MlflowConfig(), runs, lambda said: pytest.fail(said))
        record.start(name, {}, None)
        if name == "two":
            record.register(load(runs / name / "policy.json"), "orders")
        record.end()
        state = Checkpoint.load(runs / name)
        ids[name] = state.mlflow_run_id = record.run_id
        state.save(RunFolder(runs / name).path)
    assert run("runs", "tag", "one", "ticket=42").exit_code == 0
    assert client.get_run(ids["one"]).data.tags["tag.ticket"] == "42"
    done = run("runs", "tag", "one", "--untag", "ticket")
    assert done.output == "runs/one: no tags\n"
    assert "tag.ticket" not in client.get_run(ids["one"]).data.tags
    done = run("runs", "remove", "--yes", "one", "two")
    assert done.exit_code == 0, done.output
    assert client.get_run(ids["one"]).info.lifecycle_stage == "deleted"
    assert client.get_run(ids["two"]).info.lifecycle_stage == "active"
    assert "its record in MLflow stays: registry:orders/1 is kept there" in done.output
