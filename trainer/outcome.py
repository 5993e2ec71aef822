"""The outcome of a training: the champion and its closing comparisons."""

from __future__ import annotations

from dataclasses import dataclass

from envs import Comparison
from trainer.front import Front
from trainer.scenario import Scenario
from trainer.search import Candidate
from trainer.verdict import Verdict

LEARNED = "learned"
"""The name of the learned policy in tables."""


@dataclass(frozen=True)
class Closing:
    """The closing comparison of the champion in one scenario.

    Attributes:
        scenario: the scenario.
        comparison: the champion and the baselines, measured side by side.
        validation: the same on real cores, after a search on virtual ones; None if there is none.
        verdict: on the comparison; None if there are no baselines.
        validated: the verdict on the validation.
    """

    scenario: Scenario
    comparison: Comparison
    validation: Comparison | None = None
    verdict: Verdict | None = None
    validated: Verdict | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        champion: the chosen policy.
        closings: the closing comparisons by scenario, up to the one that Ctrl-C ended.
        scores: its throughput relative to each baseline, paired and combined over the scenarios by
            the objective. Empty if Ctrl-C left a scenario out.
        verdict: on the comparisons in all scenarios, on the machine of the training; None if there
            are no baselines, or Ctrl-C left a scenario out.
        front: the front, if one was requested and the run was not interrupted.
    """

    champion: Candidate
    closings: list[Closing]
    scores: dict[str, float]
    verdict: Verdict | None = None
    front: Front | None = None

    @property
    def comparisons(self) -> list[tuple[Scenario, Comparison, Verdict | None]]:
        """Return all comparisons: on the machine of the training, then on real cores.

        A comparison that scenarios share is returned once.
        """
        found = [
            (closing.scenario, closing.comparison, closing.verdict) for closing in self.closings
        ]
        for closing in self.closings:
            validation = closing.validation
            if validation is not None and all(validation is not c for _, c, _ in found):
                found.append((closing.scenario, validation, closing.validated))
        return found

    @property
    def interrupted(self) -> bool:
        """Return whether Ctrl-C ended a comparison."""
        return any(comparison.interrupted for _, comparison, _ in self.comparisons)

    @property
    def violations(self) -> list[str]:
        """Return the consistency violations of all comparisons."""
        return [
            f"{scenario.prefix}{violation}"
            for scenario, comparison, _ in self.comparisons
            for violation in comparison.violations
        ]
