"""A table that others are made from, with what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainer.search.base import Candidate
from trainer.search.blame import Blame
from trainer.search.pace import Pace


@dataclass(frozen=True)
class Elite:
    """A table that children are made from.

    Attributes:
        candidate: the table.
        fitness: what it reached, less what may have been luck.
        slices: that it rests on.
        blame: where it loses time.
        pace: how long its transactions take by type; None where that is not known.
    """

    candidate: Candidate
    fitness: float
    slices: int
    blame: Blame
    pace: Pace | None

    def as_json(self) -> list[Any]:
        """As JSON values."""
        one, pace = self.candidate, self.pace and self.pace.as_json()
        return [list(one.vector), one.origin, self.fitness, self.slices, self.blame.as_json(), pace]

    @classmethod
    def from_json(cls, state: list[Any]) -> Elite:
        """From JSON values. Those of runs begun before there was a pace have none."""
        vector, origin, fitness, slices, blame, *pace = state
        return cls(
            Candidate(tuple(vector), origin),
            fitness,
            slices,
            Blame.from_json(blame),
            Pace.from_json(pace[0]) if pace and pace[0] else None,
        )
