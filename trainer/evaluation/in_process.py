"""Measuring in the trainer's own process, without Ray: tests, tiny runs, debugging."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envs import Evaluation, Outcome, Subject
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

    def outcome(
        self, subject: Subject, seconds: float, *, warmup: float, seed: int, check: bool
    ) -> Outcome:
        """A round of one subject."""
        ((_, found),) = self.run_round([subject], seconds, warmup=warmup, seed=seed, check=check)
        return found

    def run_round(
        self,
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
    ) -> Iterator[tuple[int, Outcome]]:
        """See `envs.RunRound`."""
        return self._evaluator.run_round(subjects, seconds, warmup=warmup, seed=seed, check=check)

    def close(self) -> None:
        """See `Backend`."""
        self._evaluator.close()
