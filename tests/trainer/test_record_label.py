"""The name, tags and notes of a record in MLflow."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.trainer.fake_run import of_warehouses, settings, virtual_settings
from tests.trainer.test_command import QUICK, run
from trainer.mlflow_store import MlflowStore
from trainer.record_label import NAME_MAX, RunLabel, label_of
from trainer.run_folder import RunFolder
from trainer.scenario import single_scenario

FOLDER = RunFolder(Path("runs/2026-11-27_06-42-05-tpcc-evolution-seed3"))
WHEN = "2026-11-27 06:42:05"


def named(*typed: str) -> str:
    return label_of(single_scenario(settings(1)), typed, FOLDER).name


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ([], f"tpcc evolution seed=3 {WHEN}"),
        (["seed=3"], f"tpcc seed=3 evolution {WHEN}"),
        (["workload=tpcc", "workload.warehouses=4"], f"tpcc warehouses=4 evolution seed=3 {WHEN}"),
        (
            ["experiment=quick", "search.seconds=9", "machine.cores=2", "machine=virtual"],
            "tpcc experiment=quick search.seconds=9 cores=2 machine=virtual evolution seed=3 "
            f"{WHEN}",
        ),
        # Settings that change no result do not distinguish runs.
        (
            ["runs_dir=elsewhere", "mlflow.uri=x", "report.enabled=false", "registered_model=m"],
            f"tpcc evolution seed=3 {WHEN}",
        ),
    ],
)
def test_differences_come_first_in_a_name(typed: list[str], name: str) -> None:
    assert named(*typed) == name


def test_an_overlong_name_keeps_its_time() -> None:
    name = named(f"search.start=[{'x' * 300}]")
    assert len(name) == NAME_MAX
    assert name.endswith(f"xx {WHEN}")


def test_a_run_of_a_sweep_is_named_by_its_values(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "001-tpcc-evolution-seed3")
    values = {"workload.warehouses": "4", "seed": "3"}
    typed = ["search.generations=5", "workload.warehouses=4", "seed=3"]
    label = label_of(single_scenario(settings(1)), typed, folder, values, "mine")
    assert label.name.startswith("warehouses=4 seed=3 tpcc search.generations=5 evolution ")
    assert label.tags["heddle.sweep"] == "mine"


def test_tags_name_workload_machine_and_search() -> None:
    label = label_of(of_warehouses(virtual_settings(1), 1, 4), [], FOLDER)
    assert label.tags["heddle.workload"] == "tpcc warehouses=1 | tpcc warehouses=4"
    assert label.tags["heddle.machine"] == "4 virtual cores"
    assert label.tags["heddle.search"] == "evolution"
    assert label.tags["heddle.run"] == FOLDER.name
    assert RunLabel("x").tags == {}


@pytest.mark.slow
def test_a_training_records_throughput_tables_and_page(
    fake_engine: ModuleType, empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(empty_store, tmp_path / "runs")
    quick = [one for one in QUICK if not one.startswith(("mlflow", "report"))]
    small = ["search=evolution", "search.generations=1", "search.children=2", "search.parents=2"]
    done = run("train", *quick, *small, "baselines=[silo]", "report.timeline=false", "seed=7")
    assert done.exit_code == 0, done.output
    assert "could not" not in done.output
    assert "?workflowType=machine_learning" in done.output
    client = MlflowStore(None, tmp_path / "runs").connect()
    experiment = client.get_experiment_by_name("heddle").experiment_id
    (found,) = client.search_runs([experiment])
    (folder,) = (tmp_path / "runs").glob("*seed7")
    assert found.info.run_name.startswith("tpcc tuning.rounds=1")
    assert "runs_dir" not in found.data.params
    assert found.data.params["seed"] == "7"
    figures = found.data.metrics
    rates = [figures[f"commits_per_second/{name}"] for name in ("learned", "silo")]
    assert rates[0] / rates[1] == pytest.approx(figures["score/silo"], rel=0.05)
    table = (folder / "comparison.txt").read_text().rstrip()
    assert table in found.data.tags["mlflow.note.content"]
    kept = [file.path for file in client.list_artifacts(found.info.run_id)]
    assert {"report.html", "comparison.txt", "policy.json"} <= set(kept)
