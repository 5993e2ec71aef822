from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from envs import MeasuringError
from envs.trial import Trial, Verdict
from policies import SEEDS, Encoding, load
from tests.trainer.fake_run import make_training, settings, train, virtual_settings
from tests.trainer.fake_trials import FakeTrialPool
from trainer.checkpoint import Checkpoint
from trainer.config import TableCheckConfig
from trainer.search import Candidate
from trainer.search.random import RandomConfig


def publishes(trial: Trial) -> bool:
    """Whether a table publishes; such tables are the fastest on the stand-in engine."""
    rows = json.loads(trial.subject.policy or "{}")["cc"]
    return any(row["write_visibility"] == "PUBLIC" for row in rows)


@pytest.mark.slow
def test_every_best_is_checked_once(fake_engine: ModuleType, tmp_path: Path) -> None:
    train(virtual_settings(6), tmp_path / "run")
    state = Checkpoint.load(tmp_path / "run")
    names = [trial.subject.name for trial in FakeTrialPool.checked]
    assert len(set(names)) == len(names) >= 2
    assert set(state.checked) == set(names)
    bests = {Candidate(tuple(best.vector), "").key for best in state.incumbents}
    assert bests <= set(names)
    assert load(tmp_path / "run" / "policy.json").provenance["origin"]
    (trial, *_) = FakeTrialPool.checked
    assert (trial.cores, trial.machine["kind"]) == (4, "virtual")


@pytest.mark.slow
def test_a_failing_table_is_refused_saved_and_counted(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: Encoding
) -> None:
    monkeypatch.setattr(FakeTrialPool, "fails", staticmethod(publishes))
    training = make_training(settings(8), tmp_path / "run")
    outcome = training.run()
    state = Checkpoint.load(tmp_path / "run")
    assert state.refused
    document = encoding.decode(outcome.champion.vector, "champion")
    assert not any(row.write_visibility == "PUBLIC" for row in document.cc)
    for best in state.incumbents:
        rows = encoding.decode(best.vector, "best").cc
        assert not any(row.write_visibility == "PUBLIC" for row in rows)
    kept = {path.name for path in (tmp_path / "run" / "refused").iterdir()}
    assert kept == set(state.refused)
    folder = tmp_path / "run" / "refused" / next(iter(kept))
    assert publishes(Trial.from_json((folder / "trial.json").read_text()))
    assert "write skew" in (folder / "findings.txt").read_text()
    said = training._display.console.file.getvalue()  # type: ignore[attr-defined]
    assert "REFUSED" in said
    assert "heddle check replay=" in said
    train(settings(8, check=TableCheckConfig(enabled=False)), tmp_path / "undisturbed")
    assert state.evaluations == Checkpoint.load(tmp_path / "undisturbed").evaluations


@pytest.mark.slow
def test_a_refused_table_is_not_checked_again_after_a_resume(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeTrialPool, "fails", staticmethod(publishes))
    for generations in (1, 2, 4):
        train(virtual_settings(generations), tmp_path / "stopped")
    names = [trial.subject.name for trial in FakeTrialPool.checked]
    state = Checkpoint.load(tmp_path / "stopped")
    assert len(names) == len(state.checked) + 2 * len(state.refused)  # again for the history
    FakeTrialPool.checked.clear()
    train(virtual_settings(4), tmp_path / "straight")
    straight = Checkpoint.load(tmp_path / "straight")
    assert (straight.search, straight.samples) == (state.search, state.samples)


def test_a_run_fails_if_every_table_fails(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeTrialPool, "fails", staticmethod(lambda trial: True))
    with pytest.raises(MeasuringError, match=r"no measured table|passes the"):
        train(settings(2), tmp_path / "run")


def test_a_search_without_a_table_returns_a_seed(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends normally, so that a sweep neither stops nor repeats it."""
    monkeypatch.setattr(FakeTrialPool, "fails", staticmethod(publishes))
    search = RandomConfig(name="random", generations=2, proposals=8)
    training = make_training(settings(2, search=search), tmp_path / "run")
    outcome = training.run()
    assert outcome.champion.origin in SEEDS
    assert load(tmp_path / "run" / "policy.json").provenance["origin"] in SEEDS
    assert Checkpoint.load(tmp_path / "run").incumbents == []
    said = training._display.console.file.getvalue()  # type: ignore[attr-defined]
    assert "found no usable table; the best seed is used" in said


def test_a_process_killed_for_its_memory_does_not_fail_the_table(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = Verdict(("crashed: its process ended by signal SIGKILL\n",))
    monkeypatch.setattr(FakeTrialPool, "run_one", lambda self, trial, history=None: killed)
    with pytest.raises(MeasuringError, match=r"check\.enabled=false"):
        train(settings(2), tmp_path / "run")
    assert Checkpoint.load(tmp_path / "run").refused == {}


def test_nothing_is_checked_if_the_check_is_disabled(
    fake_engine: ModuleType, tmp_path: Path
) -> None:
    train(settings(2, check=TableCheckConfig(enabled=False)), tmp_path / "run")
    assert FakeTrialPool.checked == []


def test_unchecked_tables_are_checked_once_the_check_is_enabled(
    fake_engine: ModuleType, tmp_path: Path
) -> None:
    train(virtual_settings(3, check=TableCheckConfig(enabled=False)), tmp_path / "run")
    assert Checkpoint.load(tmp_path / "run").checked == []
    train(virtual_settings(4), tmp_path / "run")
    state = Checkpoint.load(tmp_path / "run")
    assert Candidate(tuple(state.incumbents[-1].vector), "").key in state.checked
