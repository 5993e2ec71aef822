"""Measuring in the trainer's own process, without Ray: tests, tiny runs, debugging."""

from __future__ import annotations

from collections.abc import Sequence

from envs import Evaluation, Result, Subject
from trainer.config import EvaluationConfig
from trainer.evaluation.backend import MachineSpec


class InProcess:
    """One evaluator, here. See `Backend`."""

    def __init__(self, config: EvaluationConfig, spec: MachineSpec) -> None:
        self._config = config
        self._evaluator = spec.build()

    def evaluate(
        self, subjects: Sequence[Subject], reference: Subject, *, slices: int, seed: int
    ) -> list[Evaluation]:
        """See `Backend`."""
        return self._evaluator.evaluate(
            subjects,
            reference,
            slices=slices,
            seconds=self._config.slice_seconds,
            warmup=self._config.warmup_seconds,
            seed=seed,
            reference_every=self._config.reference_every,
        )

    def run(self, subject: Subject, seconds: float, *, warmup: float, seed: int) -> Result:
        """See `Backend`."""
        return self._evaluator.run(subject, seconds, warmup=warmup, seed=seed)

    def check(self) -> list[str]:
        """See `Backend`."""
        return self._evaluator.check()

    def close(self) -> None:
        """See `Backend`."""
        self._evaluator.close()
