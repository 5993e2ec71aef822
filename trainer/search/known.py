"""A candidate with what it reached, as searches remember it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainer.search.base import Candidate


@dataclass(frozen=True)
class Known:
    """A table and what it reached."""

    candidate: Candidate
    fitness: float

    def as_json(self) -> list[Any]:
        """As JSON values."""
        return [list(self.candidate.vector), self.candidate.origin, self.fitness]

    @classmethod
    def from_json(cls, state: list[Any]) -> Known:
        """From JSON values."""
        vector, origin, fitness = state
        return cls(Candidate(tuple(vector), origin), fitness)
