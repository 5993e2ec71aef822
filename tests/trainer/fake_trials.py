"""A stand-in for the pool of trials; the test decides which trials fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from envs import Evaluator
from envs.trial import Trial, Verdict


class FakeTrialPool:
    """A pool that runs nothing. `fails` selects trials with findings; `checked` has all trials.

    `on_loaded_database` is the stand-in for `Evaluator.run_trial`.
    """

    fails: Callable[[Trial], bool] = staticmethod(lambda trial: False)
    checked: ClassVar[list[Trial]] = []

    def __init__(self, jobs: int, patience_s: float = 0.0) -> None:
        pass

    def __enter__(self) -> FakeTrialPool:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def run_one(self, trial: Trial, *, history: Path | None = None) -> Verdict:
        type(self).checked.append(trial)
        if history is not None:
            history.write_text("a history")
        if not type(self).fails(trial):
            return Verdict((), {"transactions": 10})
        return Verdict(("write skew: T1 → T2\nmore\n", "G2"), {"transactions": 10})

    @staticmethod
    def on_loaded_database(evaluator: Evaluator, trial: Trial, *, patience_s: float) -> Verdict:
        return FakeTrialPool(1, patience_s).run_one(trial)
