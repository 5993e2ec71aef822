"""Files of earlier versions, with former names of settings and keys."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from policies import load
from tests.trainer.test_robust import MIX, QUICK, run
from trainer.checkpoint import FILE_NAME, Checkpoint
from trainer.renamed import present_overrides, with_present_names
from trainer.report.saved_run import read_run
from trainer.run_folder import RunFolder
from trainer.sweep_folder import FILE_NAME as SWEEP_FILE
from trainer.sweep_folder import Sweep, SweepRun

RUNGS = "evaluation.rungs=[1,1]"


@pytest.fixture(autouse=True)
def elsewhere(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    return fake_engine


def old_run() -> RunFolder:
    """Make a finished run for two scenarios, in the format of an earlier version."""
    done = run("train", *QUICK, MIX, RUNGS, "robust.combine=worst")
    assert done.exit_code == 0, done.output
    (path,) = Path("runs").glob("*seed*")
    for number in (1, 2):
        (path / f"scenario-{number}").rename(path / f"member-{number}")
    for file in (path / "overrides.json", *path.rglob("config.yaml")):
        text = file.read_text()
        assert "scenarios" in text
        assert "rungs" in text
        text = text.replace("scenarios", "members").replace("rungs", "looks")
        text = text.replace("robust.combine", "robust.objective")
        file.write_text(text.replace("combine: worst", "objective: worst"))
    policy = path / "policy.json"
    assert '"scenarios"' in policy.read_text()
    policy.write_text(policy.read_text().replace('"scenarios"', '"members"'))
    write_old_checkpoint(path / FILE_NAME)
    return RunFolder(path)


def write_old_checkpoint(file: Path) -> None:
    state: dict[str, Any] = json.loads(file.read_text())["state"]
    state["bests"] = state.pop("incumbents")
    state["ledger"] = state.pop("samples")
    for entry in state["ledger"]:
        entry["members"] = entry.pop("scenarios")
    state["measured_on"] = {
        name.replace("scenario ", "member ").replace("robust.combine", "robust.objective"): value
        for name, value in state["measured_on"].items()
    }
    assert "member 2's workload.warehouses" in state["measured_on"]
    digest = hashlib.blake2b(json.dumps(state).encode(), digest_size=16).hexdigest()
    file.write_text(json.dumps({"schema_version": 4, "digest": digest, "state": state}))


@pytest.mark.slow
def test_a_run_of_an_earlier_version_is_reported_listed_and_compared() -> None:
    folder = old_run()
    found = read_run(folder)
    assert [scenario.label for scenario in found.scenarios] == ["warehouses 1", "warehouses 4"]
    assert (found.finished, found.missing) == (True, [])
    assert found.typed == [*QUICK, MIX, RUNGS, "robust.combine=worst"]
    assert found.dotted_settings["evaluation.rungs"] == "[1, 1]"
    done = run("report", str(folder.path), "timeline.enabled=false", "variance.enabled=false")
    assert done.exit_code == 0, done.output
    page = folder.report.read_text()
    assert "Comparison with the baselines, on 4 virtual cores (warehouses 4)" in page
    assert "Missing parts" not in page
    (listed,) = json.loads(run("runs", "list", "--format", "json").stdout)
    assert (listed["state"], listed["workload"]) == ("finished", "tpcc (1 entries)")
    done = run("train", *QUICK, MIX, RUNGS, "seed=2")
    assert done.exit_code == 0, done.output
    (new,) = Path("runs").glob("*seed2")
    done = run("runs", "compare", folder.name, new.name, "--format", "json")
    one, two = json.loads(done.stdout)
    assert "learned ÷ silo (warehouses 4)" in one["results"]
    assert (one["settings"]["seed"], two["settings"]["seed"]) == ("1", "2")
    assert not {"evaluation.rungs", "robust.scenarios"} & one["settings"].keys()


@pytest.mark.slow
def test_a_policy_of_an_earlier_version_is_evaluated_and_knows_its_scenarios() -> None:
    policy = old_run().policy
    assert len(load(policy).provenance["members"]) == 2
    place = ["machine=virtual", "machine.cores=4"]
    short = ["run.repeats=1", "run.seconds=0.01"]
    done = run("evaluate", f"policy={policy}", *place, *short, "workload.warehouses=1")
    assert done.exit_code == 0, done.output
    places = [*place, "workload.warehouses=1,2,4"]
    done = run("evaluate", f"policy=silo,{policy}", *places, "output=found")
    assert done.exit_code == 0, done.output
    columns = json.loads(Path("found/transfer.json").read_text())["columns"]
    assert [bool(column["trained_here"]) for column in columns] == [True, False, True]


@pytest.mark.slow
def test_a_run_of_an_earlier_version_is_resumed_in_its_folders() -> None:
    folder = old_run()
    before = Checkpoint.load(folder.path)
    done = run("train", f"resume={folder.path}", "search.generations=3")
    assert done.exit_code == 0, done.output
    after = Checkpoint.load(folder.path)
    assert len(after.history) == 3
    assert after.history[:2] == before.history
    assert after.incumbents[: len(before.incumbents)] == before.incumbents
    folders = {path.name for path in folder.path.iterdir() if path.is_dir()}
    assert folders == {"member-1", "member-2"}
    assert {MIX, RUNGS} <= set(json.loads(folder.overrides.read_text()))


@pytest.mark.slow
def test_a_run_with_an_unsupported_checkpoint_is_refused_in_a_sentence() -> None:
    folder = old_run()
    (folder.path / FILE_NAME).write_text(json.dumps({"schema_version": 3}))
    done = run("train", f"resume={folder.path}")
    assert done.exit_code == 2
    (line,) = [line for line in done.output.splitlines() if line.startswith("error: ")]
    assert "the run was started by another version (schema_version 3" in line
    done = run("report", str(folder.path), "timeline.enabled=false", "variance.enabled=false")
    assert done.exit_code == 0, done.output
    assert "Comparison with the baselines" in folder.report.read_text()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (MIX.replace("scenarios", "members"), "robust.members was renamed to robust.scenarios"),
        ("evaluation.looks=[1]", "evaluation.looks was renamed to evaluation.rungs; set eval"),
    ],
)
def test_an_old_name_on_the_command_line_is_an_error_with_the_new_name(
    typed: str, message: str
) -> None:
    for words in (["train", *QUICK, typed], ["train", "-m", *QUICK, typed, "seed=1,2"]):
        done = run(*words)
        assert done.exit_code == 2
        assert message in done.output, done.output
    assert not Path("runs").exists()


def test_no_new_name_is_suggested_for_commands_without_the_setting() -> None:
    done = run("evaluate", "robust.members=[]")
    assert done.exit_code == 2
    assert "there is no setting robust.members" in done.output


def test_a_sweep_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    mix = "[{workload.warehouses:[1,4]}]"
    runs = [SweepRun({"robust.members": mix, "seed": "1"})]
    axes = {"robust.members": [mix], "seed": ["1"]}
    Sweep(tmp_path, ["evaluation.looks=[1]"], axes, runs).save()
    assert "robust.members" in (tmp_path / SWEEP_FILE).read_text()
    found = Sweep.load(tmp_path)
    assert found.settings == ["evaluation.rungs=[1]"]
    assert found.axes == {"robust.scenarios": [mix], "seed": ["1"]}
    assert found.runs[0].overrides == [f"robust.scenarios={mix}", "seed=1"]


def test_other_settings_are_not_renamed() -> None:
    settings = {"robust": {"members": [], "objective": "mean"}, "evaluation": None, "seed": 1}
    found = with_present_names(settings)
    assert found == {**settings, "robust": {"scenarios": [], "combine": "mean"}}
    typed = ["+robust.members=[a=b]", "seed=1", "robust.members", "x.robust.members=1"]
    assert present_overrides(typed) == [
        "+robust.scenarios=[a=b]",
        "seed=1",
        "robust.scenarios",
        "x.robust.members=1",
    ]
