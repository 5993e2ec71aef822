"""A Gymnasium environment in which an action is a policy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from envs.evaluator import Evaluation, Evaluator
from envs.subject import NATIVE, Subject, of_policy
from policies import ACTION_GROUPS, SCHEDULE, Encoding, build_seed, to_json

STATISTICS = ("aborts", "waiting")
"""The columns of an observation. See `PolicyEnv`."""

Observation = NDArray[np.float32]
Action = NDArray[np.int64]


class PolicyEnv(gymnasium.Env[Observation, Action]):
    """Measures one policy table per step, relative to a reference.

    An action is the vector of a policy table (`policies.Encoding`), in a MultiDiscrete space. A
    cell that a state does not use has a single value. `action_mask` restricts the space to the
    chosen action groups.

    An observation is a float32 array of shape (states + 1, 2) with values in [0, 1]. Row `s` has
    two figures for state `s` in the last evaluation: the share of attempts that aborted there, and
    the share of the workers' time spent waiting there. The last row is the commit.

    The reward is the throughput relative to the reference (`Evaluator.evaluate`), and 0 if the
    table failed.

    Args:
        workload: name of the workload under `name`, and its options; all values are strings. The
            default is TPC-C.
        cores: number of workers, one per core; None for every core that this process may use.
        seconds: length of a slice in seconds.
        slices: slices per step.
        warmup: unmeasured seconds before each slice.
        steps: steps after which an episode is truncated.
        actions: names of the action groups to use, from `policies.ACTION_GROUPS` and `schedule`;
            None for all but `schedule`.
        reference: the subject that rewards are relative to; None for Silo.
        evaluator: the evaluator that runs the tables; None for a new one, which `close` frees.

    Raises:
        ImportError: the engine is not built.
        ValueError: the workload, an option or an action group is unknown.

    Attributes:
        evaluator: the evaluator that runs the tables.
        encoding: the encoding of actions.
        action_mask: for each cell an int8 array with 1 for each value that may be used, as
            `action_space.sample(mask=…)` takes it.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (Gymnasium's own form)

    def __init__(
        self,
        workload: Mapping[str, str] | None = None,
        cores: int | None = None,
        *,
        seconds: float = 0.05,
        slices: int = 2,
        warmup: float = 0.005,
        steps: int = 32,
        actions: Sequence[str] | None = None,
        reference: Subject | None = None,
        evaluator: Evaluator | None = None,
    ) -> None:
        self._owned = evaluator is None
        self.evaluator = evaluator or Evaluator(workload or {"name": "tpcc"}, cores)
        self.encoding = Encoding(self.evaluator.signature, SCHEDULE in (actions or ()))
        self._seconds, self._slices, self._warmup = seconds, slices, warmup
        self._steps, self._taken = steps, 0
        self._reference = reference or NATIVE["silo"]
        self.action_space = spaces.MultiDiscrete(np.array(self.encoding.nvec, dtype=np.int64))
        shape = (self.evaluator.signature.state_count + 1, len(STATISTICS))
        self.observation_space = spaces.Box(0.0, 1.0, shape, dtype=np.float32)
        self.action_mask = _action_mask(self.encoding, actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode by measuring the OCC table.

        Args:
            seed: seed of the inputs of all steps.
            options: not used.

        Returns:
            The observation of the OCC table, and `info` as `describe` returns it.
        """
        super().reset(seed=seed, options=options)
        self._taken = 0
        start = build_seed("occ", self.evaluator.signature)
        evaluation = self._evaluate([to_json(start)])[0]
        return self.observe(evaluation), self.describe(evaluation)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Measure a policy table.

        Args:
            action: vector of the table, `encoding.size` integers.

        Returns:
            The observation, the reward, False (an episode never terminates), whether the episode is
            truncated, and `info` as `describe` returns it.

        Raises:
            ValueError: the vector has another length, or a value is out of range.
            MeasuringError: the reference failed.
        """
        evaluation = self.evaluate_step([self.policy_json(action)])[0]
        observation, reward = self.observe(evaluation), self.reward(evaluation)
        return observation, reward, False, self.truncated, self.describe(evaluation)

    @property
    def truncated(self) -> bool:
        """Whether the episode has made all its steps."""
        return self._taken >= self._steps

    def close(self) -> None:
        """Free the database, unless the evaluator was passed to the constructor."""
        if self._owned:
            self.evaluator.close()

    def policy_json(self, action: Action) -> str:
        """Return the text of a policy file for an action.

        Raises:
            ValueError: the vector has another length, or a value is out of range.
        """
        return to_json(self.encoding.decode([int(value) for value in action], "action"))

    def evaluate_step(self, policies: Sequence[str]) -> list[Evaluation]:
        """Take one step of the episode with several tables, relative to one reference.

        Args:
            policies: texts of policy files.

        Returns:
            One evaluation per table, in order.
        """
        self._taken += 1
        return self._evaluate(policies)

    def observe(self, evaluation: Evaluation) -> Observation:
        """Return the observation of an evaluation; zeros if nothing could be measured."""
        rows = self.evaluator.signature.state_count + 1
        aborts, waiting = np.zeros(rows), np.zeros(rows)
        attempts, time_s = 0.0, 0.0
        for result in evaluation.results:
            _add(aborts, result.aborts_by_state)
            _add(waiting, result.waiting_by_state_s)
            attempts += result.commits + sum(result.aborts_by_state)
            time_s += result.duration_s * self.evaluator.cores
        shares = np.stack([aborts / max(attempts, 1.0), waiting / max(time_s, 1e-9)], axis=1)
        return np.clip(shares, 0.0, 1.0).astype(np.float32)

    def reward(self, evaluation: Evaluation) -> float:
        """Return the mean throughput relative to the reference; 0 if nothing could be measured."""
        return float(np.mean(evaluation.ratios)) if evaluation.ratios else 0.0

    def describe(self, evaluation: Evaluation) -> dict[str, Any]:
        """Return the `info` of a step.

        Returns:
            A dictionary with `throughput` (commits per second), `abort_rate` (0 to 1) and `error`
            (a message, "" without an error).
        """
        results = evaluation.results
        return {
            "throughput": float(np.mean([r.throughput for r in results])) if results else 0.0,
            "abort_rate": float(np.mean([r.abort_rate for r in results])) if results else 0.0,
            "error": evaluation.error or "",
        }

    def _evaluate(self, policies: Sequence[str]) -> list[Evaluation]:
        return self.evaluator.evaluate(
            [of_policy("action", text) for text in policies],
            self._reference,
            slices=self._slices,
            seconds=self._seconds,
            warmup=self._warmup,
            seed=int(self.np_random.integers(1, 2**31)),
        )


def _action_mask(encoding: Encoding, actions: Sequence[str] | None) -> tuple[NDArray[np.int8], ...]:
    """Return for each cell an array with 1 for every value that may be used."""
    allowed = encoding.allowed(ACTION_GROUPS if actions is None else actions)
    masks = []
    for size, values in zip(encoding.nvec, allowed, strict=True):
        mask = np.zeros(size, dtype=np.int8)
        mask[list(values)] = 1
        masks.append(mask)
    return tuple(masks)


def _add(total: NDArray[np.float64], values: Sequence[float]) -> None:
    count = min(len(values), len(total))
    total[:count] += np.asarray(values[:count], dtype=np.float64)
