"""Local search: best-improvement hill climbing from the best seed, one cell at a time.

The neighbours of a table differ from it in one cell. They are measured together with it, and the
best of them is the next table if it is better. If a table has more neighbours than a batch, each
batch is a sample of those not measured yet, and the climb continues as soon as one of them is
better. A table without a better neighbour is a local optimum. The climb then restarts at the next
best seed, and after the last seed at the incumbent with some cells redrawn.
"""

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

Move = tuple[int, int]
"""A cell and another value for it."""


@dataclass
class LocalConfig(SearchConfig):
    """Settings of `search=local`.

    Attributes:
        proposals: candidates per batch: a table and neighbours of it.
        kick: the number of redrawn cells in a restart after the last seed.
    """

    proposals: int = 40
    kick: int = 8


class Local:
    """Local search (see the module). The arguments are those of `registry.build_search`.

    Raises:
        ValueError: a setting is out of range.
    """

    def __init__(
        self, space: Space, config: LocalConfig, start: Sequence[Candidate], seed: int
    ) -> None:
        check_proposals(config.proposals, least=2)
        if config.kick < 1:
            raise ValueError(f"search.kick={config.kick}: must be at least 1")
        self._config = config
        self._random = Random(seed)
        self._space = space
        self._unmeasured = fitted(start, self._space) or [Candidate(space.base, "base")]
        self._seeds: list[Known] = []
        self._current: Known | None = None
        self._best: Known | None = None
        self._tried: set[Move] = set()
        self._restarts = 0

    @property
    def batch(self) -> int:
        """The size of a batch: a table and neighbours of it."""
        return self._config.proposals

    @property
    def parents(self) -> Sequence[Candidate]:
        """The current table, and the seeds left for restarts."""
        known = [*self._seeds, *([self._current] if self._current else [])]
        return [table.candidate for table in known]

    @property
    def restarts(self) -> int:
        """The number of restarts."""
        return self._restarts

    def ask(self, n: int) -> list[Candidate]:
        """Propose the seeds first; then the current table and neighbours not measured yet."""
        n = min(n, self.batch)
        if self._unmeasured:
            return self._unmeasured[:n]
        if self._current is None:
            self._current = self._restart()
        here = self._current.candidate
        moves = self._moves_left(here)
        if len(moves) > n - 1:
            moves = self._random.sample(moves, n - 1)
        return [here, *(_moved(here, move) for move in moves)]

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Move to the best neighbour if it is better; else check for a local optimum."""
        found = [Known(c, m.cautious) for c, m in zip(candidates, results, strict=True)]
        best = max(found, key=lambda known: known.fitness)
        if self._best is None or best.fitness > self._best.fitness:
            self._best = best
        if self._current is None:
            self._seeds += found
            self._unmeasured = [c for c in self._unmeasured if c not in candidates]
            if not self._unmeasured:
                self._seeds.sort(key=lambda known: -known.fitness)
                self._current = self._begin(self._seeds.pop(0))
            return
        self._climb(self._current.candidate, found, best)

    def state_dict(self) -> dict[str, Any]:
        """Return the current table, the seeds left, the moves tried, and the random generator."""
        return {
            "unmeasured": [[list(c.vector), c.origin] for c in self._unmeasured],
            "seeds": [known.as_json() for known in self._seeds],
            "current": self._current and self._current.as_json(),
            "best": self._best and self._best.as_json(),
            "tried": sorted(map(list, self._tried)),
            "restarts": self._restarts,
            "random": random_state(self._random),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        self._unmeasured = [Candidate(tuple(vector), o) for vector, o in state["unmeasured"]]
        self._seeds = [Known.from_json(known) for known in state["seeds"]]
        self._current = state["current"] and Known.from_json(state["current"])
        self._best = state["best"] and Known.from_json(state["best"])
        self._tried = {(cell, value) for cell, value in state["tried"]}
        self._restarts = state["restarts"]
        load_random(self._random, state["random"])

    def _climb(self, here: Candidate, found: Sequence[Known], best: Known) -> None:
        for known in found:
            if known.candidate.vector == here.vector:
                self._current = known
            else:
                self._tried.add(_move(here, known.candidate))
        assert self._current is not None
        if best.fitness > self._current.fitness:
            # Known neighbours of the new table are those that differ from it in the same cell.
            cell, _ = _move(here, best.candidate)
            known_there = {move for move in self._tried if move[0] == cell}
            self._tried = known_there | {(cell, here.vector[cell])}
            self._current = best
        elif not self._moves_left(self._current.candidate):
            self._current = None

    def _moves_left(self, here: Candidate) -> list[Move]:
        """Return the moves to neighbours not measured yet, ordered by cell and value."""
        return [move for move in self._space.moves(here.vector) if move not in self._tried]

    def _begin(self, known: Known) -> Known:
        self._tried = set()
        return known

    def _restart(self) -> Known:
        """Return the next best seed, or the incumbent with some cells redrawn."""
        self._restarts += 1
        if self._seeds:
            return self._begin(self._seeds.pop(0))
        assert self._best is not None  # a restart follows a first climb
        count = min(self._config.kick, len(self._space.open))
        cells = self._random.sample(self._space.open, count)
        changed = self._space.redraw(self._best.candidate.vector, cells, self._random)
        return self._begin(Known(Candidate(tuple(changed), "restart"), 0.0))


def _moved(here: Candidate, move: Move) -> Candidate:
    cell, value = move
    return Candidate((*here.vector[:cell], value, *here.vector[cell + 1 :]), "neighbour")


def _move(here: Candidate, neighbour: Candidate) -> Move:
    """Return the move from a table to its neighbour."""
    pairs = zip(here.vector, neighbour.vector, strict=True)
    cell = next(number for number, (one, other) in enumerate(pairs) if one != other)
    return cell, neighbour.vector[cell]
