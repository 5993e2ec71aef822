"""Whether a table of the library still is what its file says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from envs import MeasuringError
from policies import PolicyFileError
from trainer.policy_library.entry import Entry
from trainer.policy_library.measuring import Scores, measure_scores
from trainer.progress import Display


@dataclass(frozen=True)
class Verdict:
    """What measuring a table again came to.

    Attributes:
        entry: the table.
        scores: as measured now; None if it could not be.
        problem: why it does not hold; None if it does.
    """

    entry: Entry
    scores: Scores | None
    problem: str | None

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "name": self.entry.name,
            "holds": self.problem is None,
            "problem": self.problem,
            "recorded": dict(self.entry.scores),
            "measured": dict(self.scores.to) if self.scores else None,
        }


def verify_entry(
    entry: Entry, tolerance: float, seed: int | None, display: Display, number: str
) -> Verdict:
    """Measure a table as it was measured when it was added, and compare.

    Args:
        entry: the table.
        tolerance: it may have lost so much of its margin over the best baseline, relatively.
        seed: of other inputs; None: the recorded ones, on which one build always gives the same.
        display: shows.
        number: of the table among those to verify, for what is shown.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    if entry.changed:
        return Verdict(entry, None, "was changed after it was measured: its digest is another")
    how = entry.measurement if seed is None else replace(entry.measurement, seed=seed)
    display.say(f"{number}: {entry.name}")
    try:
        scores = measure_scores(entry.document, how, display, f"{number} compare")
    except (MeasuringError, PolicyFileError, ValueError) as error:
        return Verdict(entry, None, str(error))
    return Verdict(entry, scores, _problem(entry, scores, tolerance))


def _problem(entry: Entry, scores: Scores, tolerance: float) -> str | None:
    if scores.margin <= 1.0:
        word = "beats it" if scores.margin < 1.0 else "is as fast"
        return f"{scores.best_baseline} {word}"
    if scores.margin < entry.margin * (1.0 - tolerance):
        return f"worse than recorded by {1.0 - scores.margin / entry.margin:.1%}"
    return None
