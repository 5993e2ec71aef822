"""The most that a candidate may be worth that left a race in its first, unsettled rung."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from trainer.search.base import Measured

BELOW = 0.999
"""The factor on the fitness of the worst that stayed."""


@dataclass(frozen=True)
class Cap:
    """What is known of the worst candidate that stayed in a race.

    Attributes:
        fitness: its fitness.
        error: the standard error of it.
        excess: by which factor it exceeds the limits.
        unlimited: its fitness, limits aside; None if it is the same.
    """

    fitness: float
    error: float
    excess: float
    unlimited: float | None

    @classmethod
    def of(cls, worst: Measured) -> Cap:
        """Return the cap that a candidate sets for those that left before it."""
        return cls(worst.fitness, worst.error, worst.excess, worst.unlimited)

    def on(self, measured: Measured) -> Measured:
        """Return a measurement, made no better than the cap."""
        fitness = BELOW * self.fitness
        if measured.fitness <= fitness:
            return measured
        unlimited = None if self.unlimited is None else BELOW * self.unlimited
        return replace(
            measured,
            fitness=fitness,
            error=self.error,
            excess=self.excess,
            unlimited=unlimited,
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Cap:
        """Create it from JSON values."""
        return cls(**state)
