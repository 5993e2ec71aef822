from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from envs import Evaluator
from envs.policy_env import PolicyEnv
from envs.vector_policy_env import VectorPolicyEnv


@pytest.fixture
def env(evaluator: Evaluator) -> PolicyEnv:
    return PolicyEnv(evaluator=evaluator, steps=3)


def test_the_environment_passes_gymnasiums_checker(fake_engine: object) -> None:
    made = gymnasium.make("heddle/Policy-v0", workload={"name": "tpcc"}, cores=2)
    check_env(made.unwrapped, skip_render_check=True)


def test_the_action_is_a_whole_table(env: PolicyEnv) -> None:
    assert isinstance(env.action_space, gymnasium.spaces.MultiDiscrete)
    assert tuple(env.action_space.nvec) == env.encoding.nvec


def test_a_better_table_gets_a_better_reward(env: PolicyEnv) -> None:
    env.reset(seed=1)
    occ = np.array([cell.default for cell in env.encoding.cells])
    constant = occ.copy()
    for index, cell in enumerate(env.encoding.cells):
        if cell.kind == "initial_us":
            constant[index] = cell.choices.index(4.0)
        elif cell.kind == "alpha":
            constant[index] = 0
    _, plain, *_ = env.step(occ)
    observation, tuned, terminated, truncated, info = env.step(constant)
    assert (plain, tuned) == pytest.approx((1.0, 1.2))
    assert not terminated
    assert not truncated
    assert info["throughput"] == pytest.approx(120_000)
    assert observation in env.observation_space
    assert observation[-1, 0] > 0.0
    assert env.step(occ)[3]


def test_the_mask_narrows_to_named_actions(evaluator: Evaluator) -> None:
    env = PolicyEnv(evaluator=evaluator, actions=["backoff"])
    env.reset(seed=1)
    for _ in range(5):
        action = env.action_space.sample(mask=env.action_mask)
        document = env.encoding.decode([int(value) for value in action], "sampled")
        assert all(set(row.wait.values()) == {"NO_WAIT"} for row in document.cc)
        assert all(row.write_visibility in (None, "PRIVATE") for row in document.cc)


def test_the_vector_form_steps_all_tables_and_resets(evaluator: Evaluator) -> None:
    env = VectorPolicyEnv(4, evaluator=evaluator, steps=2)
    observations, _ = env.reset(seed=3)
    assert observations.shape == env.observation_space.shape
    env.action_space.seed(1)
    for expected in (False, True):
        observations, rewards, terminated, truncated, _ = env.step(env.action_space.sample())
        assert observations in env.observation_space
        assert rewards.shape == (4,)
        assert len(set(rewards)) > 1
        assert not terminated.any()
        assert truncated.tolist() == [expected] * 4
    _, rewards, _, truncated, _ = env.step(env.action_space.sample())
    assert not rewards.any()
    assert not truncated.any()


def test_gymnasium_makes_the_vector_form(fake_engine: object) -> None:
    env = gymnasium.make_vec(
        "heddle/Policy-v0",
        num_envs=3,
        vectorization_mode="vector_entry_point",
        workload={"name": "tpcc"},
        cores=2,
    )
    assert env.reset(seed=1)[0].shape == (3, 27, 2)
    env.close()
