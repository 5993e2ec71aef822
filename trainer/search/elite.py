"""Elites: the tables from which a search makes others, with their measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainer.search.base import PENALTY, Candidate
from trainer.search.blame import Blame
from trainer.search.pace import Pace


@dataclass(frozen=True)
class Elite:
    """A table from which children are made.

    Attributes:
        candidate: the table.
        fitness: its fitness, less its standard error; beyond a limit, penalized.
        slices: the number of slices measured.
        blame: the time that it loses, by access and type.
        pace: the duration of its transactions by type; None if unknown.
        excess: by which factor it exceeds the limits; 1 within all of them.
    """

    candidate: Candidate
    fitness: float
    slices: int
    blame: Blame
    pace: Pace | None
    excess: float = 1.0

    @property
    def merit(self) -> float:
        """Its fitness, limits aside."""
        return self.fitness * self.excess**PENALTY

    def as_json(self) -> list[Any]:
        """Return it as JSON values."""
        candidate, pace = self.candidate, self.pace and self.pace.as_json()
        vector = list(candidate.vector)
        known = [vector, candidate.origin, self.fitness, self.slices, self.blame.as_json(), pace]
        return [*known, self.excess]

    @classmethod
    def from_json(cls, state: list[Any]) -> Elite:
        """Create it from JSON values. Earlier versions had no pace, or no excess."""
        vector, origin, fitness, slices, blame, *more = state
        pace = more[0] if more else None
        excess = more[1] if len(more) > 1 else 1.0
        return cls(
            Candidate(tuple(vector), origin),
            fitness,
            slices,
            Blame.from_json(blame),
            Pace.from_json(pace) if pace else None,
            excess,
        )
