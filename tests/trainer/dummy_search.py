"""A random walk: changes a few cells of its best table and moves to a better one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from trainer.config import SearchConfig
from trainer.search.base import Candidate, Measured
from trainer.search.known import Known
from trainer.search.limits import check_proposals
from trainer.search.random_state import load_random, random_state
from trainer.search.space import Space
from trainer.search.warm_start import fitted


@dataclass
class DummyConfig(SearchConfig):
    """Settings of `search=dummy`; the defaults are those of the command.

    Attributes:
        proposals: candidates per generation.
        cells: the number of cells that a proposal changes, at most.
    """

    proposals: int = 40
    cells: int = 8


class Dummy:
    """The search of this module. The arguments are those of `registry.build_search`.

    Raises:
        ValueError: a setting is out of its range.
    """

    def __init__(
        self, space: Space, config: DummyConfig, start: Sequence[Candidate], seed: int
    ) -> None:
        check_proposals(config.proposals)
        if config.cells < 1:
            raise ValueError(f"search.cells={config.cells}: must be at least 1")
        self._config = config
        self._space = space
        self._random = Random(seed)
        # The warm start has the best guesses first. `fitted` makes them tables of the search space.
        first = [*fitted(start, space), Candidate(space.base, "base")][0]
        self._best = Known(first, 0.0)
        self._seen: set[str] = set()

    @property
    def batch(self) -> int:
        """Return the number of candidates of a generation."""
        return self._config.proposals

    @property
    def parents(self) -> Sequence[Candidate]:
        """Return the present table; the loop keeps its samples."""
        return [self._best.candidate]

    def ask(self, n: int) -> list[Candidate]:
        """Propose the present table, and tables near it that were not measured yet."""
        best = self._best.candidate
        found = {best.key: best}
        for _ in range(min(n, self.batch) - 1):
            step = self._step()
            if step.key not in self._seen:
                found.setdefault(step.key, step)
        return list(found.values())

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Move to the best candidate. A new result of the present table replaces the old one."""
        for candidate, measured in zip(candidates, results, strict=True):
            self._seen.add(candidate.key)
            is_best = candidate == self._best.candidate
            if is_best or measured.cautious > self._best.fitness:
                self._best = Known(candidate, measured.cautious)

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state as JSON values, the random generator included."""
        return {
            "best": self._best.as_json(),
            "seen": sorted(self._seen),
            "random": random_state(self._random),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        self._best = Known.from_json(state["best"])
        self._seen = set(state["seen"])
        load_random(self._random, state["random"])

    def _step(self) -> Candidate:
        most = min(self._config.cells, len(self._space.open))
        cells = self._random.sample(self._space.open, self._random.randint(1, most))
        changed = self._space.redraw(self._best.candidate.vector, cells, self._random)
        # Cells without effect get one value, so that equal policies are equal tables.
        return Candidate(self._space.encoding.canonical(changed), "step")
