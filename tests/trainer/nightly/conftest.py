from __future__ import annotations

from pathlib import Path

import pytest

from envs.engine_interface import load_engine
from envs.workload import workload_signature
from policies import Signature
from tests.trainer.nightly.some_nights import one_day
from trainer.nightly.state import StateFolder


@pytest.fixture(scope="session")
def signature(tmp_path_factory: pytest.TempPathFactory) -> Signature:
    """Return the signature of the small shop."""
    folder = tmp_path_factory.mktemp("signature")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        workload = {"name": "replay", "trace": str(one_day(folder / "shop"))}
        return workload_signature(load_engine(), workload)


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    """Return an empty state folder."""
    found = StateFolder(tmp_path / "state")
    found.make()
    return found
