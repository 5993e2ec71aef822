"""Register the environment, for `gymnasium.make("heddle/Policy-v0", workload={…})`."""

from __future__ import annotations

import gymnasium

ENV_ID = "heddle/Policy-v0"


def register() -> None:
    """Register `PolicyEnv` and `VectorPolicyEnv` with Gymnasium as `heddle/Policy-v0`.

    Importing `envs` calls this. Further calls have no effect.
    """
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(
            ENV_ID,
            entry_point="envs.policy_env:PolicyEnv",
            vector_entry_point="envs.vector_policy_env:VectorPolicyEnv",
            nondeterministic=True,
        )
