"""A backend in the trainer's own process, without Ray: tests, tiny runs, debugging."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envs import Evaluation, Outcome, Subject
from envs.objective import Objective
from envs.trial import Trial, Verdict
from trainer.config import EvaluationConfig
from trainer.evaluation.backend import MachineSpec, Notices, goals


class InProcess:
    """One evaluator per scenario, in this process. See `Backend`."""

    def __init__(
        self, config: EvaluationConfig, *scenarios: MachineSpec, notices: Notices | None = None
    ) -> None:
        self.waited_s = 0.0  # always: this process can't be lost
        self._config = config
        self._evaluators = [spec.build() for spec in scenarios]

    def evaluate(
        self,
        subjects: Sequence[Subject],
        references: Sequence[Subject],
        objectives: Sequence[Objective] = (),
        *,
        slices: int,
        seed: int,
        warmup: float | None = None,
    ) -> list[list[Evaluation]]:
        """See `Backend`."""
        by_scenario = [
            self.evaluate_on(scenario, subjects, *goal, slices=slices, seed=seed, warmup=warmup)
            for scenario, goal in enumerate(goals(references, objectives))
        ]
        return [list(of_subject) for of_subject in zip(*by_scenario, strict=True)]

    def evaluate_on(
        self,
        scenario: int,
        subjects: Sequence[Subject],
        reference: Subject,
        objective: Objective,
        *,
        slices: int,
        seed: int,
        warmup: float | None = None,
    ) -> list[Evaluation]:
        """Measure as `evaluate`, in one scenario."""
        return self._evaluators[scenario].evaluate(
            subjects,
            reference,
            slices=slices,
            seconds=self._config.slice_seconds,
            warmup=self._config.warmup_seconds if warmup is None else warmup,
            seed=seed,
            reference_every=self._config.reference_every,
            objective=objective,
        )

    def outcome(
        self,
        subject: Subject,
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool,
        scenario: int,
    ) -> Outcome:
        """Run one subject in one scenario."""
        ((_, found),) = self.run_round(
            [subject], seconds, warmup=warmup, seed=seed, check=check, scenario=scenario
        )
        return found

    def run_round(
        self,
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
        scenario: int = 0,
    ) -> Iterator[tuple[int, Outcome]]:
        """See `Backend`."""
        return self._evaluators[scenario].run_round(
            subjects, seconds, warmup=warmup, seed=seed, check=check
        )

    def run_trial(self, trial: Trial, *, patience_s: float, scenario: int = 0) -> Verdict:
        """See `Backend`."""
        return self._evaluators[scenario].run_trial(trial, patience_s=patience_s)

    def close(self) -> None:
        """See `Backend`."""
        for evaluator in self._evaluators:
            evaluator.close()
