"""A candidate with its fitness, as searches store it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainer.search.base import Candidate


@dataclass(frozen=True)
class Known:
    """A table and its fitness."""

    candidate: Candidate
    fitness: float

    def as_json(self) -> list[Any]:
        """Return it as JSON values."""
        return [list(self.candidate.vector), self.candidate.origin, self.fitness]

    @classmethod
    def from_json(cls, state: list[Any]) -> Known:
        """Create it from JSON values."""
        vector, origin, fitness = state
        return cls(Candidate(tuple(vector), origin), fitness)
