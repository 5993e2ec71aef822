from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from envs import Evaluator  # noqa: E402
from policies import Encoding, Signature  # noqa: E402
from tests.trainer import fake_engine as stand_in  # noqa: E402
from tests.trainer.stand_in import use_stand_in  # noqa: E402
from trainer.mlflow_store import MlflowStore  # noqa: E402


@pytest.fixture
def fake_engine(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Replace the compiled engine by the stand-in, without noise, wherever `engine` is imported."""
    return use_stand_in(monkeypatch)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an empty MLflow store to copy, because a new store takes seconds."""
    folder = tmp_path_factory.mktemp("store")
    MlflowStore(None, folder).connect()
    return folder


@pytest.fixture
def evaluator(fake_engine: ModuleType) -> Iterator[Evaluator]:
    evaluator = Evaluator({"name": "tpcc"}, 2)
    yield evaluator
    evaluator.close()


@pytest.fixture
def virtual_evaluator(fake_engine: ModuleType) -> Iterator[Evaluator]:
    evaluator = Evaluator({"name": "tpcc"}, 48, machine={"kind": "virtual"})
    yield evaluator
    evaluator.close()


@pytest.fixture
def tpcc() -> Signature:
    return Signature.from_dict(stand_in.signature({"name": "tpcc"}))


@pytest.fixture
def encoding(tpcc: Signature) -> Encoding:
    return Encoding(tpcc)
