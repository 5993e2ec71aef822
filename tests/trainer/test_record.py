from __future__ import annotations

import socket
import time
from pathlib import Path
from types import ModuleType

import pytest

from tests.trainer.fake_run import settings, train
from trainer.checkpoint import Checkpoint, GenerationRecord
from trainer.config import MlflowConfig
from trainer.record import Record

RECORD = GenerationRecord(1, 40, 100, 12.5, 1.1, 0.9, 0.2, "occ")


@pytest.mark.slow
def test_a_run_is_recorded_and_gone_on_with(tmp_path: Path) -> None:
    said: list[str] = []
    config = MlflowConfig(experiment="tests")
    record = Record(config, tmp_path, said.append)
    record.start("a run", {"seed": 1, "search": {"name": "evolution"}}, None)
    record.generation(RECORD)
    record.scores({"score/silo": 1.2})
    (tmp_path / "policy.json").write_text("{}")
    record.artifacts(tmp_path, tmp_path / "policy.json", tmp_path / "missing.txt")
    record.end("KILLED")
    again = Record(config, tmp_path, said.append)
    again.start("a run", {}, record.run_id)
    again.generation(GenerationRecord(2, 80, 200, 25.0, 1.2, 1.0, 0.3, "mutation"))
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
    assert run.data.metrics["fitness/best_so_far"] == 1.2
    assert run.data.metrics["score/silo"] == 1.2
    assert [file.path for file in client.list_artifacts(record.run_id)] == ["policy.json"]
    assert record.run_id in (record.how_to_open or "")
    assert child.run_id is not None
    assert client.get_run(child.run_id).data.tags["mlflow.parentRunId"] == record.run_id


@pytest.mark.slow
def test_files_are_kept_with_a_run_that_goes_on(tmp_path: Path) -> None:
    """Such as a sweep's, which a contest may look at before it is over."""
    said: list[str] = []
    going_on = Record(MlflowConfig(), tmp_path, said.append)
    going_on.start("a sweep", {}, None)
    assert going_on.run_id is not None
    (tmp_path / "contest.md").write_text("so far")
    Record(MlflowConfig(), tmp_path, said.append).attach(going_on.run_id, tmp_path / "contest.md")
    assert said == []

    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=going_on.uri)
    info = client.get_run(going_on.run_id).info
    assert (info.status, info.end_time) == ("RUNNING", None)
    assert [file.path for file in client.list_artifacts(going_on.run_id)] == ["contest.md"]
    going_on.end()
    ended = client.get_run(going_on.run_id).info
    Record(MlflowConfig(), tmp_path, said.append).attach(going_on.run_id, tmp_path / "contest.md")
    assert client.get_run(going_on.run_id).info.end_time == ended.end_time
    Record(MlflowConfig(), tmp_path, said.append).attach("no such run", tmp_path / "contest.md")
    assert len(said) == 1
    assert "could not keep what was written" in said[0]


@pytest.mark.slow
def test_training_goes_on_without_mlflow(fake_engine: ModuleType, tmp_path: Path) -> None:
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
    assert "goes on without" in said[0]
    assert record.how_to_open is None
    assert time.monotonic() - started < 120
    train(settings(1, mlflow=MlflowConfig(uri=uri)), tmp_path / "run")
    assert (tmp_path / "run" / "policy.json").exists()
    assert len(Checkpoint.load(tmp_path / "run").history) == 1


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    record = Record(MlflowConfig(enabled=False), tmp_path, lambda text: None)
    record.start("a run", {}, None)
    record.generation(RECORD)
    record.end()
    assert record.run_id is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_server_that_never_answers_is_given_up(
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
    assert "goes on without" in said[0]


@pytest.mark.slow
def test_a_store_that_can_not_be_made_is_told(tmp_path: Path) -> None:
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
    assert "goes on without" in said[0]


def test_a_record_that_is_away_is_gone_on_with_later(
    fake_engine: ModuleType, tmp_path: Path
) -> None:
    train(settings(1), tmp_path / "run")
    state = Checkpoint.load(tmp_path / "run")
    state.mlflow_run_id = "of an earlier day"
    state.save(tmp_path / "run")
    train(settings(2), tmp_path / "run")
    assert Checkpoint.load(tmp_path / "run").mlflow_run_id == "of an earlier day"
