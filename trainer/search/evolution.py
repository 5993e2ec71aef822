"""Evolution, as the paper trains (§5.1, §7.1): mutation only, truncation selection, warm start.

In each generation every parent makes some children, parents and children are measured together, and
the best of all of them are the next parents. It extends the paper in two ways. Parents are measured
again in every generation, and fitness is the mean over all slices of a candidate, so that noise
averages out. And no table is measured twice as a new child.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from envs.objective import BEYOND
from trainer.config import SearchConfig
from trainer.evaluation.front import fitness_of
from trainer.search.base import Candidate, Measured
from trainer.search.limits import check_distances, check_proposals, check_shares
from trainer.search.mutation import cross_rows, mutate_cells, mutate_kind
from trainer.search.random_state import load_random, random_state
from trainer.search.space import Space
from trainer.search.warm_start import fitted

ATTEMPTS = 100
"""Mutations tried for a new child; small spaces run out of new ones."""


@dataclass
class EvolutionConfig(SearchConfig):
    """Settings of `search=evolution`.

    Attributes:
        parents: survivors of a generation (paper §7.1: 8).
        children: of each parent (4).
        probability: of changing a cell, at first (the paper's p).
        probability_min: where p stops decaying.
        distance: largest step of an integer cell, at first (the paper's λ).
        distance_min: where λ stops decaying.
        decay: factor on p and λ after each generation.
        focus: probability that a child changes cells of one kind of action only (paper: 0).
        crossover: probability that a child also takes rows of another parent (paper: no).
    """

    parents: int = 8
    children: int = 4
    probability: float = 0.03
    probability_min: float = 0.01
    distance: float = 4.0
    distance_min: float = 1.0
    decay: float = 0.98
    focus: float = 0.0
    crossover: float = 0.0


class Individual(list[int]):
    """A vector with its fitness, as DEAP's operators expect it."""

    def __init__(self, candidate: Candidate) -> None:
        super().__init__(candidate.vector)
        self.origin = candidate.origin
        self.fitness = fitness_of([0.0])

    @property
    def candidate(self) -> Candidate:
        """The candidate to propose to the loop."""
        return Candidate(tuple(self), self.origin)


class Evolution:
    """Evolution (see the module). The arguments are those of `registry.build_search`.

    Raises:
        ValueError: a setting is out of range.
    """

    def __init__(
        self, space: Space, config: EvolutionConfig, start: Sequence[Candidate], seed: int
    ) -> None:
        from deap import base, tools

        _check(config)
        self._config = config
        self._random = Random(seed)
        self._settled = space.encoding.canonical
        self._start = fitted(start, space)
        self._population: list[Individual] = []
        self._seen: set[str] = set()
        self._generation = 0
        self._toolbox = base.Toolbox()
        self._toolbox.register("clone", copy.deepcopy)
        self._toolbox.register("mutate", mutate_cells, space=space, random=self._random)
        self._toolbox.register("mutate_kind", mutate_kind, space=space, random=self._random)
        self._toolbox.register("mate", cross_rows, encoding=space.encoding, random=self._random)
        self._toolbox.register("select", tools.selBest, k=config.parents)
        self._toolbox.register("select_front", tools.selNSGA2, k=config.parents)

    @property
    def batch(self) -> int:
        """The number of parents and their children."""
        return self._config.parents * (1 + self._config.children)

    @property
    def parents(self) -> Sequence[Candidate]:
        """The parents."""
        return [individual.candidate for individual in self._population]

    @property
    def probability(self) -> float:
        """The probability of changing a cell, in this generation."""
        decayed = self._config.probability * self._config.decay**self._generation
        return max(self._config.probability_min, decayed)

    @property
    def distance(self) -> float:
        """The largest step of an integer cell, in this generation."""
        decayed = self._config.distance * self._config.decay**self._generation
        return max(self._config.distance_min, decayed)

    def ask(self, n: int) -> list[Candidate]:
        """Propose the parents and their children; the warm start in the first generation.

        If the warm start has fewer tables than there are parents, mutations of them fill it up.
        """
        if not self._population:
            start = [Individual(candidate) for candidate in self._start[:n]]
            children = self._children(start, min(n, self._config.parents) - len(start))
            return [individual.candidate for individual in [*start, *children]]
        parents = self._population[: max(1, n // (1 + self._config.children))]
        children = self._children(parents, min(n, self.batch) - len(parents))
        return [individual.candidate for individual in [*parents, *children]]

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Select the best of parents and children as the next parents.

        With a front, the selection is that of NSGA-II: by domination, then by crowding distance.
        """
        metrics = max(len(measured.front) for measured in results)
        individuals = []
        for candidate, measured in zip(candidates, results, strict=True):
            individual = Individual(candidate)
            individual.fitness = fitness_of(_scores(measured, metrics))
            self._seen.add(candidate.key)
            individuals.append(individual)
        vectors = {candidate.vector for candidate in candidates}
        absent = [old for old in self._population if tuple(old) not in vectors]
        select = self._toolbox.select_front if metrics else self._toolbox.select
        self._population = select([*individuals, *absent])
        self._generation += 1

    def state_dict(self) -> dict[str, Any]:
        """Return parents, generation, the tables seen, and the random generator."""
        return {
            "generation": self._generation,
            "population": [
                {
                    "vector": list(individual),
                    "origin": individual.origin,
                    "fitness": list(individual.fitness.values),
                }
                for individual in self._population
            ],
            "seen": sorted(self._seen),
            "random": random_state(self._random),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        self._generation = state["generation"]
        self._population = []
        for entry in state["population"]:
            individual = Individual(Candidate(tuple(entry["vector"]), entry["origin"]))
            scores = entry["fitness"]
            # Earlier versions had no front.
            individual.fitness = fitness_of(scores if isinstance(scores, list) else [scores])
            self._population.append(individual)
        self._seen = set(state["seen"])
        load_random(self._random, state["random"])

    def _children(self, parents: Sequence[Individual], count: int) -> list[Individual]:
        """Make children of each parent in turn, from the better ones first."""
        taken = {parent.candidate.key for parent in parents} | self._seen
        children = []
        for number in range(count):
            child = self._child(parents[number % len(parents)], parents, taken)
            if child is not None:
                taken.add(child.candidate.key)
                children.append(child)
        return children

    def _child(
        self, parent: Individual, parents: Sequence[Individual], taken: set[str]
    ) -> Individual | None:
        for _ in range(ATTEMPTS):
            child = self._toolbox.clone(parent)
            if self._config.crossover and self._random.random() < self._config.crossover:
                self._toolbox.mate(child, self._toolbox.clone(self._random.choice(parents)))
            focused = self._config.focus and self._random.random() < self._config.focus
            mutate = self._toolbox.mutate_kind if focused else self._toolbox.mutate
            mutate(child, probability=self.probability, distance=self.distance)
            # A child that differs only in actions without effect would be a copy of its parent.
            child[:] = self._settled(child)
            if child.candidate.key not in taken:
                child.origin = "mutation"
                return child
        return None


def _scores(measured: Measured, metrics: int) -> Sequence[float]:
    """Return the scores to select by: those of the front, if there is one, else the fitness.

    With a front, a table beyond the limits or one that can't run is dominated by any other.
    """
    if metrics == 0:
        return [measured.cautious]
    if measured.excess > 1.0:
        return [score * BEYOND / measured.excess for score in measured.front]
    return measured.front or [0.0] * metrics


def _check(config: EvolutionConfig) -> None:
    check_proposals(config.parents, name="parents")
    check_proposals(config.children, name="children")
    check_proposals(config.parents * (1 + config.children), name="parents × (1 + search.children)")
    check_shares(
        probability=config.probability,
        probability_min=config.probability_min,
        focus=config.focus,
        crossover=config.crossover,
    )
    check_distances(distance=config.distance, distance_min=config.distance_min)
    if not 0.0 < config.decay <= 1.0:
        raise ValueError(f"search.decay={config.decay}: must be above 0 and at most 1")
