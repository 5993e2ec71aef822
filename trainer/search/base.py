"""The contract of a search: propose tables, be told how good they were."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from envs import Result


@dataclass(frozen=True)
class Candidate:
    """A proposed policy.

    Attributes:
        vector: the table (`policies.Encoding`).
        origin: where it came from, for people: a seed's name, or `mutation`.
    """

    vector: tuple[int, ...]
    origin: str

    @property
    def key(self) -> str:
        """A short name that equal tables share and others don't."""
        text = ",".join(map(str, self.vector))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Measured:
    """What is known about a candidate, from every slice it ever ran.

    Attributes:
        fitness: throughput relative to the reference; of several scenarios, what the
            objective makes of it (`trainer.evaluation.objective`). 0 if it can't run.
        error: standard error of the fitness; 0 on a machine without noise.
        slices: how many it rests on, in each scenario.
        scores: throughput relative to the reference, by scenario; empty if it can't run.
        results: its last slice in each scenario that the fitness hangs on: where it waits, where it
            aborts. Empty if it can't run.
    """

    fitness: float
    error: float = 0.0
    slices: int = 1
    scores: tuple[float, ...] = ()
    results: tuple[Result, ...] = field(default=(), compare=False)

    @property
    def cautious(self) -> float:
        """The fitness less one standard error: a single lucky slice does not outrank many."""
        return self.fitness - self.error


class Search(Protocol):
    """A search method. One module here and one line in `registry.py` add one.

    The loop calls `ask`, measures, and calls `tell` with the same candidates; it does so until
    the budget is spent. All of a search's state is in `state_dict`, as JSON values, random
    generators included: a search loaded from it continues as if it had never stopped.
    """

    @property
    def batch(self) -> int:
        """How many candidates it wants to propose at a time: its generation."""

    @property
    def parents(self) -> Sequence[Candidate]:
        """Tables that it may propose again: the loop keeps their samples, however low they rank."""

    def ask(self, n: int) -> list[Candidate]:
        """Propose at least one and at most `n` candidates, all different."""

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Learn what those candidates reached."""

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as JSON values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
