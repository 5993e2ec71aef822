"""The store of a folder whose name has special characters of URIs."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from policies import Signature, build_seed
from trainer.config import MlflowConfig
from trainer.mlflow_store import MlflowStore, sqlite_file
from trainer.policy_registry import RegistryReader
from trainer.record import Record

ODD = ["a?b", "a b", "a%20b", "a#b", "x%41y", "a;b&c=d", "ü'\"", "a+b", "a@b:c", "$(x)", "a\\b"]


@pytest.mark.parametrize("name", ODD)
def test_the_store_is_in_its_folder(tmp_path: Path, name: str) -> None:
    store = MlflowStore(None, tmp_path / name)
    assert sqlite_file(store.uri) == tmp_path / name / "mlflow.db"


def test_only_sqlite_has_a_file() -> None:
    for uri in ("http://127.0.0.1:5000", "postgresql://me:word@host/runs", "runs", "sqlite:"):
        assert sqlite_file(uri) is None
    assert sqlite_file("sqlite:///some/where.db?timeout=3") == Path("some/where.db")


def test_registered_policies_are_found(empty_store: Path, tmp_path: Path, tpcc: Signature) -> None:
    """All characters are tested at once, because a store takes a second."""
    runs = Path(shutil.copytree(empty_store, tmp_path / "a?b a#b x%41y"))
    said: list[str] = []
    record = Record(MlflowConfig(), runs, said.append)
    record.start("a run", {}, None)
    policy = replace(build_seed("ic3", tpcc), provenance={"run": "a run"})
    assert record.register(policy, "orders") is not None
    record.end()
    assert said == []
    assert "a run" in RegistryReader(MlflowStore(None, runs)).text("orders/1")
    assert [path.name for path in tmp_path.iterdir()] == [runs.name]
    assert shlex.quote(record.uri) in str(record.how_to_open)
