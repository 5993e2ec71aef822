"""Verifying a policy of the library: whether its recorded score still holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from envs import MeasuringError
from policies import PolicyFileError
from trainer.policy_library.entry import Entry
from trainer.policy_library.measuring import Scores, measure_scores
from trainer.progress import Display

TOLERANCE = 0.05
"""The relative loss of margin on virtual cores that is acceptable."""


@dataclass(frozen=True)
class Verdict:
    """The result of a verification.

    Attributes:
        entry: the policy.
        scores: the new scores; None if the measurement failed.
        problem: why the recorded score does not hold; None if it does.
    """

    entry: Entry
    scores: Scores | None
    problem: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "name": self.entry.name,
            "holds": self.problem is None,
            "problem": self.problem,
            "recorded": dict(self.entry.scores),
            "measured": dict(self.scores.to) if self.scores else None,
        }


def verify_entry(
    entry: Entry,
    tolerance: float | None,
    seed: int | None,
    display: Display,
    number: str,
    *,
    quick: bool = False,
) -> Verdict:
    """Repeat the measurement of a policy and compare the scores.

    Args:
        entry: the policy.
        tolerance: the relative loss of its margin over the best baseline that is acceptable; None
            for `TOLERANCE`, and for any in front of a store, where it depends on the hardware.
        seed: of other inputs; None for the recorded ones, on which a build always gives the same.
        display: shows the progress.
        number: of the policy among those to verify, for display.
        quick: whether to measure only the baseline that was the best.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    if entry.changed:
        return Verdict(entry, None, "was changed after its measurement: its digest differs")
    how = entry.measurement if seed is None else replace(entry.measurement, seed=seed)
    if quick:
        how = replace(how, baselines=[entry.best_baseline])
    display.say(f"{number}: {entry.name}")
    try:
        scores = measure_scores(entry.document, how, display, f"{number} compare")
    except (MeasuringError, PolicyFileError, ValueError) as error:
        return Verdict(entry, None, str(error))
    if tolerance is None:
        tolerance = TOLERANCE if how.store is None else 1.0
    return Verdict(entry, scores, _problem(entry, scores, tolerance))


def _problem(entry: Entry, scores: Scores, tolerance: float) -> str | None:
    if scores.exceeded is not None:
        return f"exceeds its limits: {scores.exceeded}"
    if scores.margin <= 1.0:
        word = "beats it" if scores.margin < 1.0 else "is as fast"
        return f"{scores.best_baseline} {word}"
    if scores.margin < entry.margin * (1.0 - tolerance):
        return f"worse than recorded by {1.0 - scores.margin / entry.margin:.1%}"
    return None
