from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from envs import MeasuringError
from policies import Encoding, Signature, build_seed, load, to_json
from tests.slow import some_slow
from tests.trainer.fake_run import make_training, settings, train, virtual_settings
from tests.trainer.test_searches import small
from tests.waiting import wait_until
from trainer.checkpoint import Checkpoint, best_curve
from trainer.config import ChampionConfig, TrainConfig, ValidationConfig
from trainer.evaluation.in_process import InProcess
from trainer.run_settings import check_settings
from trainer.search import SEARCHES
from trainer.search.evolution import EvolutionConfig

ROOT = Path(__file__).resolve().parents[2]


def trace(folder: Path) -> list[Any]:
    """Return the history of a run without times, which differ between runs."""
    state = Checkpoint.load(folder)
    history = [(r.generation, r.evaluations, r.slices, r.best, r.median) for r in state.history]
    return [state.tuned_us, state.search, state.samples, history]


def test_training_improves_and_writes_its_files(fake_engine: ModuleType, tmp_path: Path) -> None:
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


@pytest.mark.slow
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


@pytest.mark.parametrize("name", some_slow(SEARCHES, ["policy_gradient", "reduction"]))
def test_a_resumed_run_of_any_search_equals_an_undisturbed_one(
    fake_engine: ModuleType, tmp_path: Path, name: str
) -> None:
    """The runs use virtual cores and a race."""
    for folder, stops in (("straight", [4]), ("stopped", [1, 2, 4])):
        for generations in stops:
            search = SEARCHES[name].config(name=name, generations=generations, **small(name))
            train(virtual_settings(None, search=search), tmp_path / folder)
    assert trace(tmp_path / "stopped") == trace(tmp_path / "straight")


@pytest.mark.slow
def test_parents_of_the_search_keep_their_samples(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples are kept even for parents that rank low, as half of the elites of schedules do."""
    monkeypatch.setattr("trainer.run.REMEMBERED", 1)
    search = SEARCHES["guided"].config(name="guided", generations=8)
    train(settings(None, search=search), tmp_path / "run")
    state = Checkpoint.load(tmp_path / "run")
    remembered = {tuple(entry["vector"]) for entry in state.samples}
    elites = {tuple(vector) for vector, *_ in state.search["elites"]}
    assert len(elites) > 1
    assert elites <= remembered


@pytest.mark.parametrize("noise", some_slow([0.0, 0.05], [0.05]))
def test_a_resumed_run_equals_an_undisturbed_one(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: float
) -> None:
    monkeypatch.setattr(fake_engine, "NOISE", noise)
    monkeypatch.setattr(fake_engine, "NOISE_BY_RUN", False)
    train(settings(6), tmp_path / "straight")
    train(settings(2), tmp_path / "stopped")
    train(settings(6), tmp_path / "stopped")
    assert trace(tmp_path / "stopped") == trace(tmp_path / "straight")


@pytest.mark.parametrize("slices", some_slow([1, 30, 100, 150], [1, 100, 150]))
def test_ctrl_c_loses_at_most_the_current_generation(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slices: int
) -> None:
    train(settings(3), tmp_path / "straight")
    left = [slices]
    run = fake_engine.Session.run

    def interrupted(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return run(*arguments, **named)

    monkeypatch.setattr(fake_engine.Session, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(settings(3), tmp_path / "cut")
    train(settings(3), tmp_path / "cut")
    assert trace(tmp_path / "cut") == trace(tmp_path / "straight")


def test_sigkill_loses_at_most_the_current_generation(
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
        wait_until(lambda: len(Checkpoint.load(folder).history) >= 2 or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    survived = len(Checkpoint.load(folder).history)
    assert survived >= 2
    assert load(folder / "policy.json").provenance["generations"] in (survived, survived - 1)
    train(settings(max(4, survived)), folder)
    if survived <= 4:
        assert trace(folder) == trace(tmp_path / "straight")


def test_a_budget_of_seconds_includes_time_before_the_resume(
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


@pytest.mark.slow
def test_different_seeds_search_differently(fake_engine: ModuleType, tmp_path: Path) -> None:
    train(settings(3, seed=1), tmp_path / "1")
    train(settings(3, seed=2), tmp_path / "2")
    assert trace(tmp_path / "1")[1] != trace(tmp_path / "2")[1]


def test_a_failing_reference_ends_the_run_and_keeps_its_checkpoint(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(settings(1), tmp_path / "run")

    def failing(self: InProcess, *arguments: Any, **named: Any) -> None:
        raise MeasuringError("the reference silo_tuned committed nothing")

    monkeypatch.setattr(InProcess, "evaluate", failing)
    with pytest.raises(MeasuringError):
        train(settings(3), tmp_path / "run")
    assert len(Checkpoint.load(tmp_path / "run").history) == 1


def test_a_search_on_virtual_cores_is_validated_on_real_cores(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only real cores have noise, so that the two comparisons differ.
    monkeypatch.setattr(fake_engine, "NOISE", 0.03)
    outcome = train(virtual_settings(2), tmp_path / "run")
    (closing,) = outcome.closings
    assert closing.validation is not None
    assert [one for _, one, _ in outcome.comparisons] == [closing.comparison, closing.validation]
    for (_, comparison, _), kind, cores in zip(
        outcome.comparisons, ("virtual", "threads"), (4, 3), strict=True
    ):
        names = [row.subject.name for row in comparison.rows]
        assert names == [*settings(1).baselines, "learned"]
        assert {(row.machine.kind, row.machine.cores) for row in comparison.rows} == {(kind, cores)}
        assert all(len(row.repeats) == 3 for row in comparison.rows)
    provenance = load(tmp_path / "run" / "policy.json").provenance
    assert provenance["machine"] == {"kind": "virtual", "cores": 4}
    assert provenance["scores"] == _rounded(outcome.scores)
    assert provenance["scores_on_threads"] == _rounded(closing.validation.scores("learned"))
    assert provenance["scores_on_threads"].keys() == provenance["scores"].keys()
    assert provenance["scores_on_threads"] != provenance["scores"]


def test_both_comparisons_run_the_same_policy(fake_engine: ModuleType, tmp_path: Path) -> None:
    outcome = train(virtual_settings(2), tmp_path / "run")
    saved = json.loads(_text(tmp_path / "run"))
    for _, comparison, _ in outcome.comparisons:
        row = comparison.row("learned")
        assert row is not None
        compared = json.loads(row.subject.policy or "")
        assert (compared["cc"], compared["backoff"]) == (saved["cc"], saved["backoff"])


def test_each_machine_has_its_own_tuned_constant(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "STARVED_ABOVE_US", 2.0)
    outcome = train(virtual_settings(1), tmp_path / "run")
    rows = [comparison.row("silo_tuned") for _, comparison, _ in outcome.comparisons]
    assert [row and row.subject.backoff_us for row in rows] == [2.0, 4.0]
    assert Checkpoint.load(tmp_path / "run").tuned_us == [2.0]


@pytest.mark.parametrize(
    "config", [settings(1), virtual_settings(1, validation=ValidationConfig(enabled=False))]
)
def test_validation_needs_a_search_on_virtual_cores_and_can_be_disabled(
    fake_engine: ModuleType, tmp_path: Path, config: TrainConfig
) -> None:
    outcome = train(config, tmp_path / "run")
    (closing,) = outcome.closings
    assert closing.validation is None
    assert [one for _, one, _ in outcome.comparisons] == [closing.comparison]
    assert "scores_on_threads" not in load(tmp_path / "run" / "policy.json").provenance


def test_ctrl_c_in_the_comparison_leaves_out_the_validation(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _interrupt(fake_engine, monkeypatch, "virtual", "learned", 1)
    outcome = train(virtual_settings(1), tmp_path / "run")
    (closing,) = outcome.closings
    assert outcome.interrupted
    assert closing.comparison.interrupted
    assert closing.validation is None


@pytest.mark.parametrize(
    ("policy", "runs", "compared"),
    [("", 1, []), ("learned", 2, [*settings(1).baselines, "learned"])],
    ids=["in its sweep", "in its second repeat"],
)
def test_ctrl_c_in_the_validation_keeps_the_comparison(
    fake_engine: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    runs: int,
    compared: list[str],
) -> None:
    _interrupt(fake_engine, monkeypatch, "threads", policy, runs)
    outcome = train(virtual_settings(1), tmp_path / "run")
    (closing,) = outcome.closings
    assert outcome.interrupted
    assert not closing.comparison.interrupted
    assert all(len(row.repeats) == 3 for row in closing.comparison.rows)
    assert closing.validation is not None
    assert closing.validation.interrupted
    assert [row.subject.name for row in closing.validation.rows] == compared
    provenance = load(tmp_path / "run" / "policy.json").provenance
    assert provenance["scores"] == _rounded(outcome.scores)
    assert ("scores_on_threads" in provenance) == bool(compared)


def test_violations_of_both_machines_are_reported(fake_engine: ModuleType, tmp_path: Path) -> None:
    fake_engine.VIOLATIONS.append("W_YTD is wrong")
    outcome = train(virtual_settings(1), tmp_path / "run")
    (closing,) = outcome.closings
    assert closing.validation is not None
    assert closing.validation.violations == ["W_YTD is wrong"]
    assert {f"{name}: W_YTD is wrong" for name in [*settings(1).baselines, "learned"]} <= set(
        closing.comparison.violations
    )
    assert outcome.violations == [*closing.comparison.violations, "W_YTD is wrong"]


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(score, 4) for name, score in scores.items()}


def _interrupt(
    engine: ModuleType, monkeypatch: pytest.MonkeyPatch, kind: str, policy: str, runs: int
) -> None:
    """Interrupt a run, counted from 1, of a table ("" for any) on a kind of machine."""
    run, left = engine.Session.run, [runs]

    def interrupted(session: Any, options: Any, **named: Any) -> Any:
        table = options.policy
        if session.machine["kind"] == kind and policy in ("", table and table.document["name"]):
            left[0] -= 1
            if left[0] == 0:
                raise engine.Interrupted
        return run(session, options, **named)

    monkeypatch.setattr(engine.Session, "run", interrupted)


def _text(folder: Path) -> str:
    text = (folder / "policy.json").read_text()
    assert json.loads(text)["kind"] == "heddle.policy"
    return text


def test_a_seed_underrated_in_short_runs_can_be_the_champion(
    fake_engine: ModuleType, tmp_path: Path, tpcc: Signature, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = build_seed("ic3", tpcc)
    cells = json.loads(to_json(seed))["cc"]
    run = fake_engine.Session.run

    def slow_to_settle(self: Any, options: Any, **named: Any) -> Any:
        result = run(self, options, **named)
        if options.policy is not None and options.policy.document["cc"] == cells:
            for name in ("throughput", "mixed_throughput"):
                result[name] *= 0.1 if options.seconds < 0.1 else 10.0
        return result

    monkeypatch.setattr(fake_engine.Session, "run", slow_to_settle)
    champion = ChampionConfig(rounds=2, slice_seconds=0.2)
    outcome = train(settings(2, champion=champion), tmp_path / "run")
    assert outcome.champion.vector == tuple(Encoding(tpcc).encode(seed))


@pytest.mark.slow
def test_the_incumbent_is_shown_with_samples_and_a_best_that_never_decreases(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best child of a generation may be worse."""
    monkeypatch.setattr(fake_engine, "NOISE", 0.02)
    search = SEARCHES["random"].config(name="random", generations=12)
    training = make_training(settings(None, search=search), tmp_path / "run")
    training.run()
    history = Checkpoint.load(tmp_path / "run").history
    assert any(record.best < record.estimate for record in history)
    assert all(record.estimate >= record.best - 0.05 for record in history)
    first, last = history[0], history[-1]
    assert last.estimate >= first.estimate - 0.05
    reached = [record.best_so_far for record in history]
    assert reached == sorted(reached, key=lambda one: one or 0.0) == best_curve(history)
    assert all((one.best_so_far or 0.0) <= max(h.estimate for h in history) for one in history)
    assert all(record.samples for record in history)
    told = f"incumbent {last.estimate:.3f} ({last.samples} samples), best {reached[-1]:.3f}"
    assert told in training._words()


def test_a_budget_of_evaluations_is_exact(fake_engine: ModuleType, tmp_path: Path) -> None:
    """The last generation is smaller; repeated measurements count again."""
    search = EvolutionConfig(name="evolution", generations=None, evaluations=97)
    train(settings(None, search=search), tmp_path / "run")
    history = Checkpoint.load(tmp_path / "run").history
    assert history[-1].evaluations == 97
    assert history[-1].evaluations - history[-2].evaluations < search.parents * 5
