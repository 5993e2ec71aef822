"""Reduction: drop conflicts that need no ordering, then tune what is left (after NeurCC).

NeurCC (Pan et al., SIGMOD 2026) searches in two steps, and so does this search, for Heddle's table:

1. *Graph reduction.* IC3's table follows from the conflict graph of the workload: which accesses of
   which types conflict (`policies.conflicts`). Validation alone orders a conflict that is not in
   the graph: pieces get shorter, waits fewer, reads clean. Edges are dropped greedily from the
   whole graph. Each round measures the table with all remaining edges and the tables without one
   of them, and drops the edge whose removal gains most, until none does. An edge whose removal
   does not change the table is dropped at once, unmeasured. If the graph has very many edges,
   those of one database table are dropped together, to need fewer rounds.
2. *Bayesian optimisation* of the rest: the cells in which the reduced table still differs from
   OCC's, and the backoff. A tree-structured Parzen estimator (Optuna's) proposes values. Cells are
   categories to it: a wait for the next access is no likely neighbour of a wait for this one. There
   may be a hundred cells, and changing all of them at once would lose what the best table has. So
   each proposal is the best table with a few random cells set by the estimator. If all tables of
   these cells are known before the budget is spent, the other open cells are tuned as well, which
   NeurCC does not specify.

Before the first round, IC3's table is measured with each backoff of the warm start. The study that
proposes tables is recreated for each batch, from the measured tables and a seed of this search's
own generator. So the state is plain, and a resumed run is bit-identical.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from types import ModuleType
from typing import Any

from policies import ic3_without
from policies.conflicts import Edge, conflict_edges
from trainer.config import SearchConfig
from trainer.search.base import Candidate, Measured
from trainer.search.known import Known
from trainer.search.limits import check_proposals
from trainer.search.random_state import load_random, random_state
from trainer.search.space import Space

ATTEMPTS = 20
"""Draws for a table that has not been measured."""

TRIALS_MAX = 1000
"""Maximum number of tables in the estimator, those measured last."""


Unit = tuple[Edge, ...]
"""Edges that are dropped together, or not at all."""


@dataclass
class ReductionConfig(SearchConfig):
    """Settings of `search=reduction`.

    Attributes:
        proposals: candidates per batch.
        rounds: maximum number of edges that are dropped by measuring.
        edges: maximum number of edges that are dropped one by one; with more, all edges of one
            database table are dropped together.
        startup: tables near the reduced one that are measured before the first estimate.
        cells: the number of cells of the best table that a proposal changes.
    """

    proposals: int = 40
    rounds: int = 8
    edges: int = 32
    startup: int = 40
    cells: int = 4


class Reduction:
    """Reduction (see the module). The arguments are those of `registry.build_search`.

    Raises:
        ValueError: a setting is out of range.
    """

    def __init__(
        self, space: Space, config: ReductionConfig, start: Sequence[Candidate], seed: int
    ) -> None:
        _check(config)
        self._config = config
        self._encoding = space.encoding
        self._random = Random(seed)
        self._space = space
        self._edges = conflict_edges(self._encoding.signature)
        cells = enumerate(self._encoding.cells)
        self._stateless = [i for i, cell in cells if cell.state is None]  # backoff and schedule
        self._current: Known | None = None
        whole = self._table_without(frozenset())
        self._dropped = self._drop_idle(frozenset(), whole)
        self._unmeasured = self._with_backoffs(whole, start)
        self._left: list[Unit] | None = None
        self._round: dict[Unit, float] = {}
        self._rounds = 0
        self._cells: list[int] | None = None
        self._trials: dict[tuple[int, ...], float] = {}

    @property
    def batch(self) -> int:
        """The number of candidates per batch."""
        return self._config.proposals

    @property
    def parents(self) -> Sequence[Candidate]:
        """The table from which edges are dropped, or the best of the second step."""
        return [self._current.candidate] if self._current else []

    @property
    def dropped(self) -> frozenset[Edge]:
        """The edges left out of the conflict graph."""
        return self._dropped

    @property
    def reduced(self) -> bool:
        """Whether the first step is done."""
        return self._cells is not None

    def ask(self, n: int) -> list[Candidate]:
        """Propose IC3 under each backoff; then tables without an edge; then the estimator's."""
        n = min(n, self.batch)
        if self._unmeasured:
            return self._unmeasured[:n]
        assert self._current is not None
        here = self._current.candidate
        found = {here.vector: here} if n > 1 else {}
        for candidate in self._tables(n - len(found)):
            found.setdefault(candidate.vector, candidate)
        return list(found.values()) or [here]

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Drop an edge at the end of a round; add trials to the estimator."""
        found = [Known(c, m.cautious) for c, m in zip(candidates, results, strict=True)]
        if self._unmeasured:
            self._unmeasured = [c for c in self._unmeasured if c not in candidates]
            before = [self._current] if self._current else []
            self._current = max([*before, *found], key=lambda known: known.fitness)
            if not self._unmeasured:
                self._begin_round()
            return
        assert self._current is not None
        fitness = {known.candidate.vector: known.fitness for known in found}
        here = self._current.candidate
        self._current = Known(here, fitness.get(here.vector, self._current.fitness))
        if self._cells is None:
            self._tell_round(fitness)
        else:
            self._tell_trials(found)

    def state_dict(self) -> dict[str, Any]:
        """Return the dropped edges, the round's state, the trials, and the random generator."""
        return {
            "unmeasured": [[list(c.vector), c.origin] for c in self._unmeasured],
            "current": self._current and self._current.as_json(),
            "dropped": sorted(map(list, self._dropped)),
            "left": self._left,
            "round": [[*unit, fitness] for unit, fitness in self._round.items()],
            "rounds": self._rounds,
            "cells": self._cells,
            "trials": [[list(vector), fitness] for vector, fitness in self._trials.items()],
            "random": random_state(self._random),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        self._unmeasured = [Candidate(tuple(vector), o) for vector, o in state["unmeasured"]]
        self._current = state["current"] and Known.from_json(state["current"])
        self._dropped = frozenset((a, b) for a, b in state["dropped"])
        left = state["left"]
        self._left = None if left is None else [_unit(unit) for unit in left]
        self._round = {_unit(unit): fitness for *unit, fitness in state["round"]}
        self._rounds = state["rounds"]
        self._cells = state["cells"]
        self._trials = {tuple(vector): fitness for vector, fitness in state["trials"]}
        load_random(self._random, state["random"])

    def _with_backoffs(self, table: tuple[int, ...], start: Sequence[Candidate]) -> list[Candidate]:
        """Return the table, and the table with each backoff of the warm start, once each."""
        found = {table: Candidate(table, "ic3")}
        for candidate in start:
            fitted = self._space.fit(candidate.vector)
            changed = self._with_backoff(fitted, table)
            found.setdefault(changed, Candidate(changed, f"ic3, backoff of {candidate.origin}"))
        return list(found.values())

    def _with_backoff(self, backoff: Sequence[int], table: Sequence[int]) -> tuple[int, ...]:
        vector = list(table)
        for cell in self._stateless:
            vector[cell] = backoff[cell]
        return tuple(vector)

    def _table_without(self, edges: frozenset[Edge]) -> tuple[int, ...]:
        """Return IC3's table without these edges of the graph, with the current backoff."""
        table = self._space.fit(self._encoding.encode(ic3_without(self._encoding.signature, edges)))
        return table if self._current is None else self._with_backoff(self._here, table)

    @property
    def _here(self) -> tuple[int, ...]:
        assert self._current is not None
        return self._current.candidate.vector

    def _drop_idle(self, dropped: frozenset[Edge], table: tuple[int, ...]) -> frozenset[Edge]:
        """Add to `dropped` the edges whose removal does not change the table."""
        return self._drop_idle_of([e for e in self._edges if e not in dropped], dropped, table)

    def _drop_idle_of(
        self, edges: Sequence[Edge], dropped: frozenset[Edge], table: tuple[int, ...]
    ) -> frozenset[Edge]:
        """Try all edges at once, then each half: long runs of edges are mostly idle."""
        if self._table_without(dropped.union(edges)) == table:
            return dropped.union(edges)
        if len(edges) > 1:
            for half in (edges[: len(edges) // 2], edges[len(edges) // 2 :]):
                dropped = self._drop_idle_of(half, dropped, table)
        return dropped

    def _begin_round(self) -> None:
        self._left = self._units()
        self._round = {}
        if not self._left or self._rounds == self._config.rounds:
            self._begin_optimising()

    def _units(self) -> list[Unit]:
        """Return the units that may be dropped: single edges, or those of one table if many."""
        edges = [edge for edge in self._edges if edge not in self._dropped]
        if len(edges) <= self._config.edges:
            return [(edge,) for edge in edges]
        accesses = self._encoding.signature.accesses
        of_table: dict[str, list[Edge]] = {}
        for edge in edges:
            of_table.setdefault(accesses[edge[0]].table, []).append(edge)
        return [tuple(unit) for unit in of_table.values()]

    def _tell_round(self, fitness: dict[tuple[int, ...], float]) -> None:
        assert self._left is not None
        tables = {unit: self._table_without(self._dropped.union(unit)) for unit in self._left}
        self._round |= {u: fitness[table] for u, table in tables.items() if table in fitness}
        self._left = [unit for unit in self._left if unit not in self._round]
        if self._left:
            return
        assert self._current is not None
        best = max(self._round, key=lambda unit: self._round[unit])
        if self._round[best] <= self._current.fitness:
            self._begin_optimising()
            return
        self._rounds += 1
        dropped = self._dropped.union(best)
        table = tables.get(best) or self._table_without(dropped)
        self._current = Known(Candidate(table, self._origin(best)), self._round[best])
        self._dropped = self._drop_idle(dropped, table)
        self._begin_round()

    def _begin_optimising(self) -> None:
        self._left = None
        cells = self._encoding.cells
        held = [i for i in self._space.open if self._here[i] != cells[i].default]
        self._cells = sorted({*held, *(i for i in self._stateless if i in self._space.open)})
        assert self._current is not None
        self._trials = {self._here: self._current.fitness}

    def _tell_trials(self, found: Sequence[Known]) -> None:
        for known in found:
            self._trials.pop(known.candidate.vector, None)
            self._trials[known.candidate.vector] = known.fitness
        assert self._current is not None
        best = max([self._current, *found], key=lambda known: known.fitness)
        self._current = best
        for vector in list(self._trials)[: max(0, len(self._trials) - TRIALS_MAX)]:
            del self._trials[vector]

    def _tables(self, n: int) -> list[Candidate]:
        """Return at most `n` tables of the search's current step."""
        if self._left is not None:
            units = self._left[:n]
            tables = (self._table_without(self._dropped.union(unit)) for unit in units)
            pairs = zip(units, tables, strict=True)
            return [Candidate(table, self._origin(unit)) for unit, table in pairs]
        assert self._cells is not None
        if n < 1:
            return []
        near = max(0, min(n, self._config.startup + 1 - len(self._trials)))
        found = [*self._nearby(near), *self._estimated(n - near)] if self._cells else []
        if not found and len(self._cells) < len(self._space.open):
            # All tables over these cells are known, if there are any cells: few conflicts, and no
            # choice of backoff. The rest of the budget is for all open cells.
            self._cells = list(self._space.open)
            return self._tables(n)
        return found

    def _origin(self, unit: Unit) -> str:
        signature = self._encoding.signature
        if len(unit) > 1:
            return f"ic3 without {len(unit)} conflicts on {signature.accesses[unit[0][0]].table}"
        accesses = [signature.accesses[state] for state in unit[0]]
        names = [f"{signature.type_of(access.state).name}.{access.name}" for access in accesses]
        return f"ic3 without {' – '.join(names)}"

    def _nearby(self, n: int) -> list[Candidate]:
        """Return new tables with a few cells of the current one redrawn."""
        assert self._cells is not None
        found: dict[tuple[int, ...], Candidate] = {}
        for _ in range(n * ATTEMPTS):
            if len(found) == n:
                break
            vector = tuple(self._space.redraw(self._here, self._some_cells(), self._random))
            if vector not in self._trials:
                found.setdefault(vector, Candidate(vector, "near the reduced"))
        return list(found.values())

    def _some_cells(self) -> list[int]:
        assert self._cells is not None
        return self._random.sample(self._cells, min(self._config.cells, len(self._cells)))

    def _estimated(self, n: int) -> list[Candidate]:
        """Return the estimator's proposals; if none is new, tables near the current one."""
        if n < 1:
            return []
        ask = self._study()
        found: dict[tuple[int, ...], Candidate] = {}
        for _ in range(2 * n):
            if len(found) == n:
                break
            vector = ask()
            if vector not in self._trials:
                found.setdefault(vector, Candidate(vector, "Bayesian optimisation"))
        return [*found.values(), *self._nearby(n - len(found))]

    def _study(self) -> Any:
        """Create a study with the known trials; return a function that proposes a table."""
        optuna = load_optuna()
        assert self._cells is not None
        distributions = {
            self._encoding.names[cell]: optuna.distributions.CategoricalDistribution(
                self._space.values[cell]
            )
            for cell in self._cells
        }
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=1,
            multivariate=False,
            constant_liar=True,
            seed=self._random.randrange(1 << 32),
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials(
            optuna.trial.create_trial(
                value=fitness,
                params={self._encoding.names[cell]: vector[cell] for cell in self._cells},
                distributions=distributions,
            )
            for vector, fitness in self._trials.items()
        )

        def ask() -> tuple[int, ...]:
            names = {self._encoding.names[cell]: cell for cell in self._some_cells()}
            params = study.ask({name: distributions[name] for name in names}).params
            vector = list(self._here)
            for name, cell in names.items():
                vector[cell] = params[name]
            return tuple(vector)

        return ask


def _unit(state: Sequence[Any]) -> Unit:
    """Create a unit from JSON values. Earlier versions wrote a single edge."""
    edges = [state] if isinstance(state[0], int) else state
    return tuple((a, b) for a, b in edges)


def load_optuna() -> ModuleType:
    """Import Optuna where it is needed, without its log line per trial."""
    optuna = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _check(config: ReductionConfig) -> None:
    check_proposals(config.proposals, least=2)
    check_proposals(config.rounds, least=0, name="rounds")
    check_proposals(config.edges, name="edges")
    check_proposals(config.startup, name="startup")
    if config.startup >= TRIALS_MAX:
        raise ValueError(
            f"search.startup={config.startup}: must be below {TRIALS_MAX}, the maximum number of "
            "tables in the estimator"
        )
    check_proposals(config.cells, name="cells")
