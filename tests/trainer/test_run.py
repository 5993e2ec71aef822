from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from envs import MeasuringError
from policies import Signature, load
from tests.trainer.fake_run import settings, train
from trainer.checkpoint import Checkpoint
from trainer.evaluation.in_process import InProcess
from trainer.run import check_settings
from trainer.search.evolution import EvolutionConfig

ROOT = Path(__file__).resolve().parents[2]


def trace(folder: Path) -> list[Any]:
    """What a run did, without the times, which differ from run to run."""
    state = Checkpoint.load(folder)
    history = [(r.generation, r.evaluations, r.slices, r.best, r.median) for r in state.history]
    return [state.tuned_us, state.search, state.ledger, history]


def test_training_improves_and_leaves_its_files(fake_engine: ModuleType, tmp_path: Path) -> None:
    outcome = train(settings(25), tmp_path / "run")
    history = Checkpoint.load(tmp_path / "run").history
    assert [record.generation for record in history] == list(range(1, 26))
    assert history[-1].best > history[0].best
    # Fitness is relative to silo_tuned, which `occ` with the tuned constant equals.
    assert history[0].best == pytest.approx(1.0)
    assert outcome.scores["silo_tuned"] > 1.0
    assert outcome.scores["two_phase_locking"] > 1.5
    assert set(outcome.scores) == set(settings(1).baselines)
    document = load(tmp_path / "run" / "policy.json")
    assert document.provenance["generations"] == 25
    assert document.provenance["scores"].keys() == outcome.scores.keys()


def test_the_learned_policy_is_no_worse_than_any_baseline_under_noise(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "NOISE", 0.03)
    for seed in range(3):
        outcome = train(settings(12, seed=seed), tmp_path / str(seed))
        monkeypatch.setattr(fake_engine, "NOISE", 0.0)
        policy = fake_engine.Policy(_text(tmp_path / str(seed)), fake_engine.SIGNATURES["tpcc"])
        true = fake_engine._relative("policy_table", policy, "policy", 0.0)
        assert true >= 0.99 * 1.2, outcome.champion.origin
        monkeypatch.setattr(fake_engine, "NOISE", 0.03)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_resumed_run_does_what_an_undisturbed_one_does(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: float
) -> None:
    monkeypatch.setattr(fake_engine, "NOISE", noise)
    monkeypatch.setattr(fake_engine, "NOISE_BY_RUN", False)
    train(settings(6), tmp_path / "straight")
    train(settings(2), tmp_path / "stopped")
    train(settings(6), tmp_path / "stopped")
    assert trace(tmp_path / "stopped") == trace(tmp_path / "straight")


@pytest.mark.parametrize("slices", [1, 30, 100, 150])
def test_ctrl_c_at_any_moment_loses_at_most_the_generation_in_flight(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slices: int
) -> None:
    train(settings(3), tmp_path / "straight")
    left = [slices]
    run = fake_engine.Session.run

    def interrupted(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return run(*arguments)

    monkeypatch.setattr(fake_engine.Session, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(settings(3), tmp_path / "cut")
    train(settings(3), tmp_path / "cut")
    assert trace(tmp_path / "cut") == trace(tmp_path / "straight")


def test_kill_9_loses_at_most_the_generation_in_flight(
    fake_engine: ModuleType, tmp_path: Path
) -> None:
    train(settings(4), tmp_path / "straight")
    folder = tmp_path / "killed"
    arguments = [str(folder), "1000", "0.001"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.trainer.fake_run", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        deadline = time.monotonic() + 60
        while len(Checkpoint.load(folder).history) < 2 and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    survived = len(Checkpoint.load(folder).history)
    assert survived >= 2
    assert load(folder / "policy.json").provenance["generations"] in (survived, survived - 1)
    train(settings(max(4, survived)), folder)
    if survived <= 4:
        assert trace(folder) == trace(tmp_path / "straight")


def test_a_budget_of_seconds_counts_those_before_the_resume(
    fake_engine: ModuleType, tmp_path: Path
) -> None:
    train(settings(2), tmp_path / "run")
    state = Checkpoint.load(tmp_path / "run")
    state.seconds = 1000.0
    state.save(tmp_path / "run")
    search = EvolutionConfig(name="evolution", generations=None, seconds=1000.0)
    train(settings(None, search=search), tmp_path / "run")
    assert len(Checkpoint.load(tmp_path / "run").history) == 2


def test_a_search_without_end_is_refused(tpcc: Signature) -> None:
    with pytest.raises(ValueError, match="would never end"):
        check_settings(settings(None), tpcc)


def test_different_seeds_search_differently(fake_engine: ModuleType, tmp_path: Path) -> None:
    train(settings(3, seed=1), tmp_path / "1")
    train(settings(3, seed=2), tmp_path / "2")
    assert trace(tmp_path / "1")[1] != trace(tmp_path / "2")[1]


def test_a_reference_that_fails_ends_the_run_and_keeps_its_checkpoint(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(settings(1), tmp_path / "run")

    def failing(self: InProcess, *arguments: Any, **named: Any) -> None:
        raise MeasuringError("the reference silo_tuned committed nothing")

    monkeypatch.setattr(InProcess, "evaluate", failing)
    with pytest.raises(MeasuringError):
        train(settings(3), tmp_path / "run")
    assert len(Checkpoint.load(tmp_path / "run").history) == 1


def _text(folder: Path) -> str:
    text = (folder / "policy.json").read_text()
    assert json.loads(text)["kind"] == "heddle.policy"
    return text
