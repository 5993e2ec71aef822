"""The interface of a search: propose tables, and learn from their measurements."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from envs import Result

PENALTY = 2.0
"""The power of the excess that divides the fitness of a table beyond a limit."""


@dataclass(frozen=True)
class Candidate:
    """A proposed policy.

    Attributes:
        vector: the table (`policies.Encoding`).
        origin: how it was made, for display: the name of a seed, or `mutation`.
    """

    vector: tuple[int, ...]
    origin: str

    @property
    def key(self) -> str:
        """A short name, the same for equal tables and different for others."""
        text = ",".join(map(str, self.vector))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Measured:
    """The fitness of a candidate over all slices that it has run.

    Attributes:
        fitness: value of the objective relative to the reference's (`envs.Objective`); for several
            scenarios, combined (`trainer.evaluation.combination`). Beyond a limit it is less than
            any within (`envs.limited`). 0 if the candidate can't run.
        error: standard error of the fitness; 0 on a machine without noise, and beyond a limit.
        slices: the number of slices in each scenario.
        scores: value of the objective relative to the reference's, by scenario, limits aside; empty
            if it can't run.
        results: the last slice in each scenario that determines the fitness, with waits and aborts
            by access. Empty if the candidate can't run.
        excess: by which factor it exceeds the limits; 1 within all of them.
        unlimited: the fitness, limits aside; None if it is the same.
        front: values of the front's metrics relative to the reference's; empty without a front.
    """

    fitness: float
    error: float = 0.0
    slices: int = 1
    scores: tuple[float, ...] = ()
    results: tuple[Result, ...] = field(default=(), compare=False)
    excess: float = 1.0
    unlimited: float | None = None
    front: tuple[float, ...] = ()

    @property
    def cautious(self) -> float:
        """The fitness less one standard error: one fast slice does not outrank many slices."""
        return self.fitness - self.error

    @property
    def penalized(self) -> float:
        """The fitness, less one standard error, divided by a power of the excess.

        For choosing parents: a table just beyond a limit may be one change away from the best table
        within it, and worth more as a parent than a bad table within.
        """
        if self.excess <= 1.0 or self.unlimited is None:
            return self.cautious
        return self.unlimited / self.excess**PENALTY


class Search(Protocol):
    """A search method. To add one, write a module here and add a line to `registry.py`.

    The training loop calls `ask`, measures the candidates, and calls `tell` with them, until the
    budget is spent. `state_dict` returns the whole state as JSON values, including the random
    generators: a search that loads it continues exactly where the other one stopped.
    """

    @property
    def batch(self) -> int:
        """The number of candidates to ask for at a time: the size of a generation."""

    @property
    def parents(self) -> Sequence[Candidate]:
        """Tables that may be proposed again. The loop keeps their samples, whatever their rank."""

    def ask(self, n: int) -> list[Candidate]:
        """Propose at least one and at most `n` candidates, all different."""

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Learn from the measurements of candidates, given in the same order."""

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state, as JSON values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state that `state_dict` returned."""
