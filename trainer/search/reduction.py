"""Reduction: drop conflicts that need no ordering, then tune what is left (after NeurCC).

NeurCC (Pan et al., SIGMOD 2026) searches in two steps, and so does this, in our table's terms:

1. *Graph reduction.* IC3's table follows from the conflict graph of the workload: which accesses of
   which types conflict (`policies.conflicts`). A conflict that is left out of the graph is ordered
   by nobody and left to validation: pieces get shorter, waits fewer, reads clean. From the whole
   graph, edges are dropped greedily: each round measures the table without each of the edges left,
   beside the table with all of them, and drops the one whose loss gains most, until none does. An
   edge whose loss leaves the table as it was is dropped at once, unmeasured. A graph of very many
   edges would cost more rounds than there are evaluations: as long as it has, those of one database
   table are dropped together.
2. *Bayesian optimisation* of what is left: the cells in which the reduced table still differs from
   OCC's, and the backoff. A tree-structured Parzen estimator (Optuna's) proposes values. Cells are
   categories to it: a wait for the next access is no likely neighbour of a wait for this one. There
   may be a hundred cells, and a proposal for all of them at once would spoil what the best table
   has; so each proposal is the best table with a few cells, drawn at random, as the estimator
   would have them. Where all tables of what is left are known before the budget is spent, the
   other cells that the actions open are tuned as well, which NeurCC does not say.

Before the first round, the backoffs of the warm start are tried on IC3's table. The study that
proposes is made anew for each batch, from the tables measured and a seed out of this search's own
generator: so the state is plain, and a resumed run is the same to the bit.
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
"""Draws for a table that was not measured yet."""

TRIALS_MAX = 1000
"""So many of the tables measured last are what the estimator rests on."""


Unit = tuple[Edge, ...]
"""Edges that are dropped together, or not at all."""


@dataclass
class ReductionConfig(SearchConfig):
    """Settings of `search=reduction`.

    Attributes:
        proposals: candidates at a time.
        rounds: edges that are dropped by measuring, at most.
        edges: that are left out one by one, at most; where more are left, all of one database table
            are left out together.
        startup: tables near the reduced one that are measured before the estimator is asked.
        cells: how many cells of the best table a proposal has anew.
    """

    proposals: int = 40
    rounds: int = 8
    edges: int = 32
    startup: int = 40
    cells: int = 4


class Reduction:
    """See the module. Arguments as for `registry.build_search`.

    Raises:
        ValueError: a setting is out of its range.
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
        """How many candidates it wants to propose at a time."""
        return self._config.proposals

    @property
    def parents(self) -> Sequence[Candidate]:
        """The table from which edges are dropped, or that the estimator holds to be best."""
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
        """IC3 under each backoff; then tables without an edge; then what the estimator says."""
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
        """Drop an edge when its round is over; remember what the estimator rests on."""
        found = [Known(c, m.cautious) for c, m in zip(candidates, results, strict=True)]
        if self._unmeasured:
            self._unmeasured = [one for one in self._unmeasured if one not in candidates]
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
        """The edges dropped, where the round is, the trials, and the random generator."""
        return {
            "unmeasured": [[list(one.vector), one.origin] for one in self._unmeasured],
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
        """The table, and with the backoff of each of the warm start; each once."""
        found = {table: Candidate(table, "ic3")}
        for one in start:
            fitted = self._space.fit(one.vector)
            changed = self._on_backoff_of(fitted, table)
            found.setdefault(changed, Candidate(changed, f"ic3, backoff of {one.origin}"))
        return list(found.values())

    def _on_backoff_of(self, backoff: Sequence[int], table: Sequence[int]) -> tuple[int, ...]:
        vector = list(table)
        for cell in self._stateless:
            vector[cell] = backoff[cell]
        return tuple(vector)

    def _table_without(self, edges: frozenset[Edge]) -> tuple[int, ...]:
        """IC3's table of the graph without these edges, with the backoff of the current one."""
        table = self._space.fit(self._encoding.encode(ic3_without(self._encoding.signature, edges)))
        return table if self._current is None else self._on_backoff_of(self._here, table)

    @property
    def _here(self) -> tuple[int, ...]:
        assert self._current is not None
        return self._current.candidate.vector

    def _drop_idle(self, dropped: frozenset[Edge], table: tuple[int, ...]) -> frozenset[Edge]:
        """Further edges dropped without which the table is the same."""
        return self._drop_idle_of([e for e in self._edges if e not in dropped], dropped, table)

    def _drop_idle_of(
        self, edges: Sequence[Edge], dropped: frozenset[Edge], table: tuple[int, ...]
    ) -> frozenset[Edge]:
        """All of the edges at once if that is so, else either half: most are idle in long runs."""
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
        """What may be dropped: each edge by itself, or, of too many, those of one table."""
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
        """So many tables at most, of the step that the search is in."""
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
            # All tables of what the first step left are known, if it left any cell: few conflicts,
            # and no backoff to choose. The rest of the budget is for all that is open.
            self._cells = list(self._space.open)
            return self._tables(n)
        return found

    def _origin(self, unit: Unit) -> str:
        signature = self._encoding.signature
        if len(unit) > 1:
            return f"ic3 without {len(unit)} conflicts on {signature.accesses[unit[0][0]].table}"
        kinds = [signature.accesses[state] for state in unit[0]]
        names = [f"{signature.type_of(one.state).name}.{one.name}" for one in kinds]
        return f"ic3 without {' – '.join(names)}"

    def _nearby(self, n: int) -> list[Candidate]:
        """Tables with a few cells of the current one drawn anew, not measured yet."""
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
        """What the estimator proposes; where it has nothing new, tables near the current one."""
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
        """A study that knows the trials, as a function that proposes a table."""
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
    """From JSON values. Earlier versions wrote one edge."""
    edges = [state] if isinstance(state[0], int) else state
    return tuple((a, b) for a, b in edges)


def load_optuna() -> ModuleType:
    """Optuna, imported where it is needed and quiet: it would log every trial."""
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
            f"search.startup={config.startup}: must be below {TRIALS_MAX}, the tables that the "
            "estimator rests on"
        )
    check_proposals(config.cells, name="cells")
