"""Random search: tables drawn uniformly, a baseline for all other searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from trainer.config import SearchConfig
from trainer.search.base import Candidate, Measured
from trainer.search.limits import check_proposals, check_shares
from trainer.search.random_state import load_random, random_state
from trainer.search.space import Space
from trainer.search.warm_start import fitted

ATTEMPTS = 100
"""Draws for a new table; small spaces run out of new ones."""


@dataclass
class RandomConfig(SearchConfig):
    """Settings of `search=random`.

    Attributes:
        proposals: candidates per batch.
        near: probability that a candidate is a changed table of the warm start instead. Above 0 the
            search uses the seeds and is no longer a baseline.
        redrawn: probability that a cell of such a table is redrawn.
    """

    proposals: int = 40
    near: float = 0.0
    redrawn: float = 0.05


def random_no_start_reason(config: RandomConfig) -> str | None:
    """Return why it can't start from a table: all are drawn, unless `near` is set."""
    if config.near > 0.0:
        return None
    return f"search={config.name} draws all tables; omit search.start, or set search.near=0.5"


class RandomSearch:
    """Random search (see the module). The arguments are those of `registry.build_search`.

    No table is proposed twice, unless all tables of the space were.

    Raises:
        ValueError: a setting is out of range.
    """

    def __init__(
        self, space: Space, config: RandomConfig, start: Sequence[Candidate], seed: int
    ) -> None:
        check_proposals(config.proposals)
        check_shares(near=config.near, redrawn=config.redrawn)
        self._config = config
        self._random = Random(seed)
        self._space = space
        self._start = fitted(start, self._space)
        self._seen: set[str] = set()

    @property
    def batch(self) -> int:
        """The number of candidates per batch."""
        return self._config.proposals

    @property
    def parents(self) -> Sequence[Candidate]:
        """No table."""
        return ()

    def ask(self, n: int) -> list[Candidate]:
        """Propose tables that were never proposed before."""
        taken = set(self._seen)
        found: list[Candidate] = []
        for _ in range(min(n, self.batch)):
            candidate = self._fresh(taken)
            if candidate is None:
                break
            taken.add(candidate.key)
            found.append(candidate)
        return found or [self._draw()]

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Mark the tables as measured."""
        self._seen.update(candidate.key for candidate in candidates)

    def state_dict(self) -> dict[str, Any]:
        """Return the tables seen, and the random generator."""
        return {"seen": sorted(self._seen), "random": random_state(self._random)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        self._seen = set(state["seen"])
        load_random(self._random, state["random"])

    def _fresh(self, taken: set[str]) -> Candidate | None:
        for _ in range(ATTEMPTS):
            candidate = self._draw()
            if candidate.key not in taken:
                return candidate
        return None

    def _draw(self) -> Candidate:
        near = self._config.near and self._start and self._random.random() < self._config.near
        if not near:
            return Candidate(self._space.draw(self._random), "random")
        start = self._random.choice(self._start)
        cells = [i for i in self._space.open if self._random.random() < self._config.redrawn]
        changed = self._space.redraw(start.vector, cells, self._random)
        return Candidate(tuple(changed), f"near {start.origin}")
