from __future__ import annotations

import shutil
import socket
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.trainer.fake_run import settings, train
from trainer.checkpoint import Checkpoint, GenerationRecord
from trainer.config import MlflowConfig
from trainer.mlflow_store import MlflowStore
from trainer.record import PARENT, Record
from trainer.record_label import RunLabel
from trainer.verdict import judge

RECORD = GenerationRecord(1, 40, 100, 12.5, 1.1, 0.9, 0.2, "occ")


@pytest.fixture(scope="module")
def store(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a store that tests share."""
    return Path(shutil.copytree(empty_store, tmp_path_factory.mktemp("shared") / "store"))


def begun(store: Path, said: list[str], run_id: str | None = None) -> Record:
    record = Record(MlflowConfig(), store, said.append)
    record.start("a run", {}, run_id)
    return record


def kept(record: Record) -> Any:
    """Return the run in the store."""
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=record.uri).get_run(str(record.run_id))


@pytest.mark.slow
def test_a_run_is_recorded_and_its_record_resumed(tmp_path: Path) -> None:
    said: list[str] = []
    config = MlflowConfig(experiment="tests")
    record = Record(config, tmp_path, said.append)
    record.start("a run", {"seed": 1, "search": {"name": "evolution"}}, None)
    record.generation(RECORD)
    record.scores({"score/silo": 1.2})
    ratios = {"silo": [1.19, 1.2, 1.21]}
    verdict = judge(ratios, 0.95)
    assert verdict is not None
    record.verdict("verdict", verdict)
    (tmp_path / "policy.json").write_text("{}")
    record.artifacts(tmp_path, tmp_path / "policy.json", tmp_path / "missing.txt")
    record.end("KILLED")
    again = Record(config, tmp_path, said.append)
    again.start("a run", {}, record.run_id)
    again.generation(
        GenerationRecord(2, 80, 200, 25.0, 1.2, 1.0, 0.3, "mutation", samples=7, best_so_far=1.15)
    )
    again.end()
    child = Record(config, tmp_path, said.append, parent=record.run_id)
    child.start("a run of a sweep", {}, None)
    assert said == []
    assert again.run_id == record.run_id

    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=record.uri)
    assert record.run_id is not None
    run = client.get_run(record.run_id)
    assert run.info.status == "FINISHED"
    assert run.data.params == {"seed": "1", "search.name": "evolution"}
    history = client.get_metric_history(record.run_id, "fitness/best")
    assert [(metric.step, metric.value) for metric in history] == [(40, 1.1), (80, 1.2)]
    assert run.data.metrics["fitness/median"] == 1.0
    assert run.data.tags["heddle.verdict"] == "better"
    assert run.data.tags["heddle.verdict.words"] == verdict.line
    assert run.data.metrics["verdict/low"] == verdict.low
    assert run.data.metrics["fitness/incumbent"] == 1.2
    assert run.data.metrics["fitness/incumbent_samples"] == 7
    assert run.data.metrics["fitness/best_so_far"] == 1.15
    assert run.data.metrics["score/silo"] == 1.2
    assert [file.path for file in client.list_artifacts(record.run_id)] == ["policy.json"]
    assert record.run_id in (record.how_to_open or "")
    assert child.run_id is not None
    assert client.get_run(child.run_id).data.tags["mlflow.parentRunId"] == record.run_id


def test_a_record_opens_in_the_view_with_the_runs_and_can_be_found(store: Path) -> None:
    from mlflow import MlflowClient

    said: list[str] = []
    tags = {"heddle.workload": "tpcc warehouses=4", "heddle.seed": "2"}
    label = RunLabel("warehouses=4 seed=2 tpcc", tags, hidden=("mlflow", "runs_dir"))
    record = Record(MlflowConfig(experiment="found"), store, said.append, label=label)
    record.start("2026-11-27_06-42-05-tpcc", {"seed": 2, "mlflow": {"uri": "x"}}, None)
    record.describe("| a | b |" * 1000)
    record.end()
    again = Record(
        MlflowConfig(experiment="found"),
        store,
        said.append,
        label=RunLabel("another", {"heddle.seed": "3"}),
    )
    again.start("a", {}, record.run_id)
    again.end()
    assert said == []
    run = kept(record)
    assert run.info.run_name == "warehouses=4 seed=2 tpcc"
    assert run.data.params == {"seed": "2"}
    assert run.data.tags["heddle.workload"] == "tpcc warehouses=4"
    assert run.data.tags["heddle.seed"] == "3"
    assert len(run.data.tags["mlflow.note.content"]) == 8000
    experiment = MlflowClient(tracking_uri=record.uri).get_experiment_by_name("found")
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    assert (record.how_to_open or "").endswith(f"/{record.run_id}?workflowType=machine_learning")


def test_files_are_attached_to_a_running_record(store: Path, tmp_path: Path) -> None:
    """A contest may read a sweep's record before the sweep is finished."""
    said: list[str] = []
    running = Record(MlflowConfig(), store, said.append)
    running.start("a sweep", {}, None)
    assert running.run_id is not None
    (tmp_path / "contest.md").write_text("so far")
    Record(MlflowConfig(), store, said.append).attach(running.run_id, tmp_path / "contest.md")
    assert said == []

    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=running.uri)
    info = client.get_run(running.run_id).info
    assert (info.status, info.end_time) == ("RUNNING", None)
    assert [file.path for file in client.list_artifacts(running.run_id)] == ["contest.md"]
    running.end()
    ended = client.get_run(running.run_id).info
    Record(MlflowConfig(), store, said.append).attach(running.run_id, tmp_path / "contest.md")
    assert client.get_run(running.run_id).info.end_time == ended.end_time
    Record(MlflowConfig(), store, said.append).attach("no such run", tmp_path / "contest.md")
    assert len(said) == 1
    assert "could not keep the files" in said[0]


def test_limits_are_recorded_as_one_setting(store: Path) -> None:
    """MLflow refuses the `*` that stands for any type, and with it all settings."""
    said: list[str] = []
    record = Record(MlflowConfig(), store, said.append)
    limits = {"delivery.p99": "2ms", "*.p99": "1x best"}
    record.start(
        "a run", {"seed": 1, "objective": {"metric": "throughput", "limits": limits}}, None
    )
    assert said == []
    assert kept(record).data.params == {
        "seed": "1",
        "objective.metric": "throughput",
        "objective.limits": str(limits),
    }


def test_figures_have_names_that_mlflow_accepts(store: Path) -> None:
    """The name of a baseline can be a path, a version in the registry, or have a schedule."""
    said: list[str] = []
    record = begun(store, said)
    names = [
        "silo+smf",
        "registry:orders@champion",
        "/tmp/x.json",
        "./policy.json",
        "policy.json",
        "../a b/../policy.json",
        "x" * 300,
    ]
    record.scores({f"score/{name}": float(at) for at, name in enumerate(names)})
    assert said == []
    long = f"score/{'x' * 234}"
    assert kept(record).data.metrics == {
        "score/silo_smf": 0.0,
        "score/registry:orders_champion": 1.0,
        "score/tmp/x.json": 2.0,
        "score/policy.json": 3.0,
        "score/policy.json-2": 4.0,
        "score/a b/policy.json": 5.0,
        long: 6.0,
    }


def test_only_figures_refused_by_mlflow_are_left_out(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    log = MlflowClient.log_metric

    def refusing(client: Any, run_id: str, name: str, value: float) -> None:
        log(client, run_id, "a+b" if name == "odd" else name, value)

    monkeypatch.setattr(MlflowClient, "log_metric", refusing)
    said: list[str] = []
    record = begun(store, said)
    record.scores({"odd": 1.0, "score/silo": 2.0})
    record.generation(RECORD)
    record.end()
    assert len(said) == 1
    assert "could not record odd" in said[0]
    assert "and the rest is recorded" in said[0]
    assert kept(record).data.metrics["score/silo"] == 2.0
    assert kept(record).data.metrics["fitness/best"] == 1.1
    assert kept(record).info.status == "FINISHED"


def test_a_record_ends_after_an_outage_of_mlflow(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from mlflow import MlflowClient

    tried: list[str] = []

    def away(client: Any, run_id: str, **figures: Any) -> None:
        tried.append(run_id)
        raise ConnectionError("no route")

    said: list[str] = []
    record = begun(store, said)
    monkeypatch.setattr(MlflowClient, "log_batch", away)
    for _ in range(3):
        record.generation(RECORD)
    assert len(tried) == 1, "each may take as long as the server is waited for"
    (tmp_path / "policy.json").write_text("{}")
    record.scores({"score/silo": 2.0})
    record.artifacts(tmp_path, tmp_path / "policy.json")
    record.end()
    assert len(said) == 1
    assert "(no route)" in said[0]
    assert "is recorded as far as possible" in said[0]
    assert kept(record).data.metrics == {"score/silo": 2.0}
    assert kept(record).info.status == "FINISHED"
    files = MlflowClient(tracking_uri=record.uri).list_artifacts(str(record.run_id))
    assert [file.path for file in files] == ["policy.json"]


def test_a_record_missing_from_the_store_is_created_again(store: Path) -> None:
    """The record is in another store or was deleted; it is not a parent in the new store."""
    from mlflow import MlflowClient

    said: list[str] = []
    deleted = begun(store, said).run_id
    assert deleted is not None
    MlflowClient(tracking_uri=MlflowStore(None, store).uri).delete_run(deleted)
    assert said == []
    for lost in (deleted, "0" * 32):
        record = begun(store, said, lost)
        assert record.run_id not in (None, lost)
        assert kept(record).info.status == "RUNNING"
        assert f"has no run {lost}: it was deleted" in said.pop()
        child = Record(MlflowConfig(), store, said.append, parent=lost)
        child.start("a run of a sweep", {}, None)
        assert PARENT not in kept(child).data.tags
    assert said == []


def test_a_finished_run_saves_the_id_of_a_new_record(
    fake_engine: ModuleType, store: Path, tmp_path: Path
) -> None:
    config = settings(1, mlflow=MlflowConfig(uri=MlflowStore(None, store).uri))
    train(config, tmp_path / "run")
    state = Checkpoint.load(tmp_path / "run")
    state.mlflow_run_id = "0" * 32
    state.save(tmp_path / "run")
    train(config, tmp_path / "run")
    noted = Checkpoint.load(tmp_path / "run").mlflow_run_id
    assert noted not in (None, "0" * 32)
    train(config, tmp_path / "run")
    assert Checkpoint.load(tmp_path / "run").mlflow_run_id == noted


def test_training_continues_without_mlflow(fake_engine: ModuleType, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{free.getsockname()[1]}"
    said: list[str] = []
    started = time.monotonic()
    record = Record(MlflowConfig(uri=uri), tmp_path, said.append)
    record.start("a run", {}, None)
    record.generation(RECORD)
    record.end()
    assert len(said) == 1
    assert uri in said[0]
    assert "continues without" in said[0]
    assert record.how_to_open is None
    assert time.monotonic() - started < 120
    train(settings(1, mlflow=MlflowConfig(uri=uri)), tmp_path / "run")
    assert (tmp_path / "run" / "policy.json").exists()
    assert len(Checkpoint.load(tmp_path / "run").history) == 1


def test_the_record_can_be_disabled(tmp_path: Path) -> None:
    record = Record(MlflowConfig(enabled=False), tmp_path, lambda text: None)
    record.start("a run", {}, None)
    record.generation(RECORD)
    record.end()
    assert record.run_id is None
    assert list(tmp_path.iterdir()) == []


def test_an_unresponsive_server_is_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        record = Record(MlflowConfig(uri=uri), tmp_path, said.append)
        started = time.monotonic()
        record.start("a run", {"seed": 1}, None)
        record.generation(RECORD)
        record.end()
    assert time.monotonic() - started < 120
    assert len(said) == 1
    assert uri in said[0]
    assert "continues without" in said[0]


def test_a_store_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said: list[str] = []
    started = time.monotonic()
    record = Record(
        MlflowConfig(uri=f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}"), tmp_path, said.append
    )
    record.start("a run", {"seed": 1}, None)
    record.end()
    assert time.monotonic() - started < 120
    assert len(said) == 1
    assert "continues without" in said[0]


def test_an_unavailable_record_is_kept_for_later(fake_engine: ModuleType, tmp_path: Path) -> None:
    train(settings(1), tmp_path / "run")
    state = Checkpoint.load(tmp_path / "run")
    state.mlflow_run_id = "of an earlier day"
    state.save(tmp_path / "run")
    train(settings(2), tmp_path / "run")
    assert Checkpoint.load(tmp_path / "run").mlflow_run_id == "of an earlier day"
