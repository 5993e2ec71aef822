"""Locks, also on file systems without them, and the creation of stores."""

from __future__ import annotations

import errno
import fcntl
import logging
from pathlib import Path
from typing import Any

import mlflow
import pytest

from trainer.checkpoint import WritingError
from trainer.lock import HeldError, held
from trainer.mlflow_store import MlflowStore


def refuse(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(file: Any, operation: int) -> None:
        raise OSError(number, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)


def test_a_folder_is_held_once(tmp_path: Path) -> None:
    with held(tmp_path), pytest.raises(HeldError, match="another process"), held(tmp_path):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_causes_a_warning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: int,
) -> None:
    refuse(monkeypatch, number)
    with caplog.at_level(logging.WARNING), held(tmp_path):
        pass
    assert "the file system has no locks" in caplog.text
    assert f"no other process uses {tmp_path}" in caplog.text


def test_other_lock_errors_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, errno.EIO)
    with pytest.raises(WritingError, match=r"can't be locked"), held(tmp_path):
        pass


class CutOff(BaseException):
    """Raised in place of a kill of the process."""


class Client:
    """Creates the database of its URI, and can be interrupted in between."""

    killed = False

    def __init__(self, tracking_uri: str, registry_uri: str) -> None:
        self._path = Path(tracking_uri.removeprefix("sqlite:///"))

    def search_experiments(self, max_results: int) -> None:
        if not self._path.exists():
            self._path.write_text("half")
        if Client.killed:
            raise CutOff
        self._path.write_text("whole")


def test_an_incomplete_store_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlflow, "MlflowClient", Client)
    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok=False: None)  # killed: no cleaning
    store = MlflowStore(None, tmp_path)
    Client.killed = True
    with pytest.raises(CutOff):
        store.connect()
    assert not (tmp_path / "mlflow.db").exists()
    monkeypatch.undo()
    monkeypatch.setattr(mlflow, "MlflowClient", Client)
    Client.killed = False
    store.connect()
    assert (tmp_path / "mlflow.db").read_text() == "whole"
    assert [path.name for path in tmp_path.glob(".mlflow.db*")] == []
