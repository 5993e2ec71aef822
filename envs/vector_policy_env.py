"""The vectorised form of `PolicyEnv`, which measures a batch of tables per step."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from envs.policy_env import PolicyEnv


class VectorPolicyEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], Any]):
    """Measures `num_envs` policy tables per step on one machine, relative to one reference.

    This takes fewer slices than separate environments, and disturbances affect all tables equally.
    All episodes start and end together. The step after the end of an episode begins the next one
    (Gymnasium's `NEXT_STEP` autoreset).

    Args:
        num_envs: number of tables per step.
        **arguments: arguments of `PolicyEnv`.

    Attributes:
        single: the `PolicyEnv` that measures the tables.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int, **arguments: Any) -> None:
        self.single = PolicyEnv(**arguments)
        self.num_envs = num_envs
        self.single_action_space = self.single.action_space
        self.single_observation_space = self.single.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._ended = False

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start all episodes by measuring the OCC table.

        Args:
            seed: seed of the inputs, which all episodes share. Of a list only the first is used.
            options: not used.

        Returns:
            The observations of shape (num_envs, states + 1, 2), and an empty `info`.
        """
        first = seed[0] if isinstance(seed, list) else seed
        observation, _ = self.single.reset(seed=first, options=options)
        self._ended = False
        return np.stack([observation] * self.num_envs), {}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict
    ]:
        """Measure one table per environment.

        Args:
            actions: vectors of the tables, of shape (num_envs, size).

        Returns:
            The observations, rewards, terminated flags and truncated flags, one per environment,
            and `info` with the `throughput` of each table in commits per second. The step after the
            end of an episode resets instead, and its rewards are 0.
        """
        nothing = np.zeros(self.num_envs, dtype=np.bool_)
        if self._ended:
            observations, infos = self.reset()
            return observations, np.zeros(self.num_envs), nothing, nothing.copy(), infos
        env = self.single
        evaluations = env.evaluate_step([env.policy_json(action) for action in actions])
        self._ended = env.truncated
        infos = {"throughput": np.array([env.describe(e)["throughput"] for e in evaluations])}
        return (
            np.stack([env.observe(evaluation) for evaluation in evaluations]),
            np.array([env.reward(evaluation) for evaluation in evaluations]),
            nothing,
            np.full(self.num_envs, self._ended),
            infos,
        )

    def close(self, **kwargs: Any) -> None:
        """Free the database."""
        self.single.close()
