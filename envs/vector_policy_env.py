"""The vectorised form of `PolicyEnv`: a batch of tables a step, on one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from envs.policy_env import PolicyEnv


class VectorPolicyEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], Any]):
    """As many tables a step, measured in turns against one shared reference.

    That takes fewer slices than separate environments, and disturbances fall on all alike.
    All episodes start and end together; one that ended is followed by the next one in the next
    step (Gymnasium's NEXT_STEP autoreset).

    Args:
        num_envs: tables a step.
        arguments: as for `PolicyEnv`.
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
        """Start all episodes; one seed serves all of them, since they share the inputs."""
        first = seed[0] if isinstance(seed, list) else seed
        observation, _ = self.single.reset(seed=first, options=options)
        self._ended = False
        return np.stack([observation] * self.num_envs), {}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict
    ]:
        """Measure one table for each environment."""
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
