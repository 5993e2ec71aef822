"""Integration: the environment on the compiled engine, with runs too short to judge by speed."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from envs import BASELINES, ComparisonPlan, Evaluator, compare, subject_of


@pytest.fixture(scope="module")
def engine_evaluator() -> Iterator[Evaluator]:
    evaluator = Evaluator({"name": "tpcc", "warehouses": "1"}, 2)
    yield evaluator
    evaluator.close()


def test_every_baseline_commits_and_keeps_the_database_consistent(
    engine_evaluator: Evaluator,
) -> None:
    names = [*BASELINES, "two_phase_locking_no_wait", "random:1", "random:2"]
    subjects = [subject_of(name, engine_evaluator.signature, lambda: 2.0) for name in names]
    comparison = compare(engine_evaluator.run, subjects, ComparisonPlan(0.1, 2, 0.01), seed=1)
    assert [row.subject.name for row in comparison.rows] == names
    for row in comparison.rows:
        assert all(result.commits > 0 for result in row.repeats), row.subject.name
        assert row.types == ["new_order", "payment", "delivery"]
        assert row.machine.cores == 2
        assert row.latency_of("new_order").p50 > 0.0
    assert engine_evaluator.check() == []


def test_candidates_are_measured_beside_the_reference(engine_evaluator: Evaluator) -> None:
    reference, *others = (
        subject_of(name, engine_evaluator.signature, lambda: 2.0)
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


def test_gymnasiums_checker_is_content_with_the_engine() -> None:
    made = gymnasium.make(
        "heddle/Policy-v0", workload={"name": "tpcc"}, cores=2, seconds=0.02, slices=1
    )
    env = made.unwrapped
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    env.action_space.seed(1)
    observation, reward, *_ = env.step(env.action_space.sample())
    assert observation in env.observation_space
    assert np.isfinite(reward)
    env.close()
