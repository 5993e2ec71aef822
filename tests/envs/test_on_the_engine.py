"""Integration: the environment on the compiled engine, with runs too short to compare speed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from envs import (
    BASELINES,
    NATIVE,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    compare,
    subject_of,
    untuned,
)
from envs.trial import Trial, run_trial
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
VIRTUAL = {"kind": "virtual"}


@pytest.fixture(scope="module")
def engine_evaluator() -> Iterator[Evaluator]:
    evaluator = Evaluator({"name": "tpcc", "warehouses": "1"}, 2)
    yield evaluator
    evaluator.close()


@pytest.fixture(scope="module")
def virtual_engine() -> Iterator[Evaluator]:
    evaluator = Evaluator({"name": "tpcc", "warehouses": "1"}, 16, machine=VIRTUAL)
    yield evaluator
    evaluator.close()


def test_every_baseline_commits_and_keeps_the_database_consistent(
    engine_evaluator: Evaluator,
) -> None:
    names = [*BASELINES, "two_phase_locking_no_wait", "random:1", "random:2"]
    subjects = [subject_of(name, engine_evaluator.signature, untuned) for name in names]
    plan = ComparisonPlan(0.25, 1, 0.01)  # other programs may use the cores for a part of it
    comparison = compare(engine_evaluator.run_round, subjects, plan, seed=1)
    assert [row.subject.name for row in comparison.rows] == names
    for row in comparison.rows:
        assert row.repeats[0].commits > 0, row.subject.name
        assert row.types == ["new_order", "payment", "delivery"]
        assert row.machine.cores == 2
        assert row.latency_of("new_order").p50 > 0.0
    assert comparison.violations == []


@pytest.mark.parametrize("name", ["occ", "ic3", "random:3"])
@pytest.mark.slow
def test_a_trial_gives_the_same_result_on_a_loaded_database(
    virtual_engine: Evaluator, name: str
) -> None:
    subject = subject_of(name, virtual_engine.signature, untuned)
    trial = Trial(virtual_engine.workload, 16, 1, VIRTUAL, subject, 0.0005)
    verdict = virtual_engine.run_trial(trial, patience_s=PATIENCE_S)
    assert verdict == run_trial(trial)
    assert verdict.findings == ()
    assert verdict.transactions > 0
    assert virtual_engine.grown_bytes == 0
    assert virtual_engine.run_trial(trial, patience_s=PATIENCE_S) == verdict


def test_a_trial_that_hangs_is_a_finding(virtual_engine: Evaluator) -> None:
    subject = subject_of("occ", virtual_engine.signature, untuned)
    trial = Trial(virtual_engine.workload, 16, 1, VIRTUAL, subject, 0.0005)
    verdict = virtual_engine.run_trial(trial, patience_s=0.0)
    assert len(verdict.findings) == 1
    assert "stuck" in verdict.findings[0] or "did not answer" in verdict.findings[0]


def test_a_trial_for_another_database_is_refused(
    engine_evaluator: Evaluator, virtual_engine: Evaluator
) -> None:
    subject = subject_of("occ", virtual_engine.signature, untuned)
    trial = Trial(virtual_engine.workload, 16, 1, VIRTUAL, subject, 0.0005)
    refused = {
        "another database": replace(trial, seed=2),
        "switch policies": replace(trial, switches=("one",)),
    }
    for message, other in refused.items():
        with pytest.raises(ValueError, match=message):
            virtual_engine.run_trial(other, patience_s=1.0)
    with pytest.raises(ValueError, match="real cores"):
        engine_evaluator.run_trial(trial, patience_s=1.0)


def test_candidates_are_measured_relative_to_the_reference(engine_evaluator: Evaluator) -> None:
    reference, *others = (
        subject_of(name, engine_evaluator.signature, untuned)
        for name in ("silo_tuned", "occ", "ic3")
    )
    found = engine_evaluator.evaluate(
        others, reference, slices=2, seconds=0.03, warmup=0.003, seed=1
    )
    for evaluation in found:
        assert evaluation.error is None
        assert len(evaluation.ratios) == 2
        assert all(ratio > 0.0 for ratio in evaluation.ratios)
        states = engine_evaluator.signature.state_count
        assert len(evaluation.results[0].aborts_by_state) == states + 1
        assert len(evaluation.results[0].waiting_by_state_s) >= states


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ValueError, match="warehouse"):
        Evaluator({"name": "tpcc", "warehouse": "1"}, 2)


@pytest.mark.slow
def test_the_environment_passes_gymnasiums_checker_on_the_engine() -> None:
    made = gymnasium.make(
        "heddle/Policy-v0", workload={"name": "tpcc"}, cores=2, seconds=0.02, slices=1
    )
    env = made.unwrapped
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    env.action_space.seed(1)
    observation, reward, *_ = env.step(env.action_space.sample())
    assert observation in env.observation_space
    assert np.isfinite(float(reward))
    env.close()


@pytest.mark.slow
def test_every_baseline_commits_on_virtual_cores_and_leaves_the_database_consistent(
    virtual_engine: Evaluator,
) -> None:
    names = [*BASELINES, "two_phase_locking_no_wait", "random:1"]
    subjects = [subject_of(name, virtual_engine.signature, untuned) for name in names]
    comparison = compare(virtual_engine.run_round, subjects, ComparisonPlan(0.01, 1, 0.002), seed=1)
    assert [row.subject.name for row in comparison.rows] == names
    for row in comparison.rows:
        (result,) = row.repeats
        assert result.commits > 0, row.subject.name
        assert (result.machine.kind, result.machine.cores) == ("virtual", 16)
        assert result.fitness == result.mixed_throughput
        assert result.violations == []
    silo = comparison.rows[0].repeats[0]
    assert silo.mixed_throughput == pytest.approx(silo.throughput, rel=0.5)
    assert comparison.violations == []
    assert virtual_engine.grown_bytes == 0


@pytest.mark.slow
def test_virtual_cores_give_the_same_result_in_every_process(virtual_engine: Evaluator) -> None:
    """A result does not depend on earlier runs or on the addresses of the memory."""
    here = [
        virtual_engine.run(NATIVE["silo"], 0.004, warmup=0.001, seed=seed).as_dict()
        for seed in (5, 6, 5)
    ]
    assert here[0] == here[2] != here[1]
    program = (
        "import json; from envs import NATIVE, Evaluator\n"
        "e = Evaluator({'name': 'tpcc', 'warehouses': '1'}, 16, machine={'kind': 'virtual'})\n"
        "print(json.dumps(e.run(NATIVE['silo'], 0.004, warmup=0.001, seed=5).as_dict()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == json.loads(json.dumps(here[0]))


def test_the_reference_is_measured_once_on_virtual_cores(virtual_engine: Evaluator) -> None:
    occ = subject_of("occ", virtual_engine.signature, untuned)
    first, again = (
        virtual_engine.evaluate(
            [occ], NATIVE["silo"], slices=2, seconds=0.004, warmup=0.001, seed=1
        )[0]
        for _ in range(2)
    )
    assert first.error is None
    assert (len(first.ratios), first.slices) == (1, 2)
    assert first == again


@pytest.mark.parametrize(
    ("machine", "cores", "message"),
    [
        ({"kind": "abacus"}, 2, "abacus"),
        ({**VIRTUAL, "skew": "1"}, 2, "skew"),
        ({**VIRTUAL, "private_lines": "1000"}, 2, "power of two"),
        ({**VIRTUAL, "memory_ns": "-1"}, 2, "memory_ns"),
    ],
)
def test_an_invalid_machine_is_reported(machine: dict[str, str], cores: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Evaluator({"name": "micro"}, cores, machine=machine)


def test_a_session_that_cannot_be_opened_is_an_error() -> None:
    with pytest.raises(MeasuringError, match="between 1 and 256"):
        Evaluator({"name": "micro"}, 300, machine=VIRTUAL).run(
            NATIVE["silo"], 0.01, warmup=0.0, seed=1
        )
