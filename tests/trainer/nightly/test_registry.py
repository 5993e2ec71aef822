"""The served policy in MLflow's registry."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from policies import Signature, save
from tests.trainer.nightly.some_nights import FIRST, one_day, peak, table
from trainer.command import one_night
from trainer.command.main import heddle
from trainer.mlflow_store import MlflowStore
from trainer.nightly.night import Plan
from trainer.nightly.nights import Night
from trainer.nightly.outcome import Outcome
from trainer.nightly.publish import publish
from trainer.nightly.registry import DAY, align
from trainer.nightly.state import StateFolder
from trainer.policy_registry import CHAMPION, DIGEST, SIGNATURE

MODEL = "heddle-policy"


@pytest.fixture
def with_store(state: StateFolder, empty_store: Path) -> StateFolder:
    """Return a state folder with an empty store."""
    shutil.copytree(empty_store, state.path, dirs_exist_ok=True)
    return state


def serve(state: StateFolder, signature: Signature, day: int) -> None:
    document = replace(table(signature), name=f"day {day}")
    publish(state, document, peak(of=FIRST + timedelta(days=day)), 10)


def aliased(state: StateFolder) -> Any:
    """Return the version that the alias points to."""
    return MlflowStore(None, state.path).connect().get_model_version_by_alias(MODEL, CHAMPION)


def align_alias(state: StateFolder) -> list[str]:
    """Update the alias; returns the messages."""
    said: list[str] = []
    align(MlflowStore(None, state.path), MODEL, state, said.append)
    return said


@pytest.mark.slow
def test_the_alias_follows_the_served_policy(state: StateFolder, signature: Signature) -> None:
    assert align_alias(state) == []
    assert not (state.path / "mlflow.db").exists()  # nothing is served
    for day in (0, 1):
        serve(state, signature, day)
        assert align_alias(state) == []
        served = state.served()
        assert served is not None
        found = aliased(state)
        assert found.tags[DIGEST] == served.digest
        assert found.tags[DAY] == f"{FIRST + timedelta(days=day)}"
        assert SIGNATURE in found.tags
        assert found.source == state.published(served.number).resolve().as_uri()
        assert int(found.version) == day + 1
    assert align_alias(state) == []
    assert int(aliased(state).version) == 2

    done = CliRunner().invoke(heddle, ["nightly", "--rollback", f"state={state.path}"])
    assert done.exit_code == 0
    assert done.stderr == ""
    assert int(aliased(state).version) == 1

    mlflow = MlflowStore(None, state.path).connect()
    assert len(mlflow.search_model_versions(f"name = '{MODEL}'")) == 2
    mlflow.delete_registered_model_alias(MODEL, CHAMPION)
    assert align_alias(state) == []
    assert int(aliased(state).version) == 1


@pytest.fixture
def a_promotion(
    state: StateFolder, signature: Signature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Return the command line of a night that serves a policy."""

    def promoted(plan: Plan, display: object) -> Night:
        serve(state, signature, 0)
        return plan.night(Outcome.PROMOTED, "better", {})

    monkeypatch.setattr(one_night, "run_night", promoted)
    return ["nightly", f"trace={one_day(tmp_path / 'shop')}", f"state={state.path}"]


@pytest.mark.slow
def test_a_promotion_sets_the_alias(with_store: StateFolder, a_promotion: list[str]) -> None:
    assert CliRunner().invoke(heddle, a_promotion).exit_code == 0
    assert int(aliased(with_store).version) == 1


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("mlflow.uri=sqlite:////dev/null/mlflow.db", True),
        ("registered_model=null", False),
        ("mlflow.enabled=false", False),
    ],
)
def test_a_promotion_needs_no_registry(
    state: StateFolder, a_promotion: list[str], typed: str, told: bool
) -> None:
    done = CliRunner().invoke(heddle, [*a_promotion, typed])
    assert done.exit_code == 0
    assert done.stdout == "2026-03-01 promoted: better\n"
    assert ("could not point heddle-policy@champion" in " ".join(done.stderr.split())) is told
    assert state.served() is not None
    assert not (state.path / "mlflow.db").exists()


def test_a_broken_store_is_reported_and_the_next_night_repairs_the_alias(
    with_store: StateFolder, signature: Signature, tmp_path: Path
) -> None:
    state = with_store
    for day in (0, 1):
        serve(state, signature, day)
        assert align_alias(state) == []
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database" * 100)
    done = CliRunner().invoke(
        heddle,
        ["nightly", "--rollback", f"state={state.path}", f"mlflow.uri=sqlite:///{broken}"],
    )
    assert done.exit_code == 0
    assert done.stdout.startswith("rolled back: day 0")
    (said,) = [line for line in done.stderr.splitlines() if "heddle-policy" in line]
    assert "could not point heddle-policy@champion" in said
    served = state.served()
    assert served is not None
    assert served.number == 1
    assert int(aliased(state).version) == 2
    assert align_alias(state) == []
    assert int(aliased(state).version) == 1


def test_a_manually_copied_policy_is_registered(
    with_store: StateFolder, signature: Signature
) -> None:
    state = with_store
    save(table(signature), state.policy)
    assert align_alias(state) == []
    assert DAY not in aliased(state).tags
    with sqlite3.connect(state.path / "mlflow.db") as database:
        database.execute("DROP TABLE registered_model_aliases")
    assert len(align_alias(state)) == 1
