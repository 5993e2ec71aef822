"""Elites: the tables from which a search makes others, with their measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainer.search.base import Candidate
from trainer.search.blame import Blame
from trainer.search.pace import Pace


@dataclass(frozen=True)
class Elite:
    """A table from which children are made.

    Attributes:
        candidate: the table.
        fitness: its fitness, less its standard error.
        slices: the number of slices measured.
        blame: the time that it loses, by access and type.
        pace: the duration of its transactions by type; None if unknown.
    """

    candidate: Candidate
    fitness: float
    slices: int
    blame: Blame
    pace: Pace | None

    def as_json(self) -> list[Any]:
        """Return it as JSON values."""
        candidate, pace = self.candidate, self.pace and self.pace.as_json()
        vector = list(candidate.vector)
        return [vector, candidate.origin, self.fitness, self.slices, self.blame.as_json(), pace]

    @classmethod
    def from_json(cls, state: list[Any]) -> Elite:
        """Create it from JSON values. Runs of versions without a pace have none."""
        vector, origin, fitness, slices, blame, *pace = state
        return cls(
            Candidate(tuple(vector), origin),
            fitness,
            slices,
            Blame.from_json(blame),
            Pace.from_json(pace[0]) if pace and pace[0] else None,
        )
