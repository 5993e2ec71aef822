"""A genetic algorithm over orders (Davis 1985; Cheng et al., VLDB 2024, §5.4.1), with DEAP."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
from deap import base, tools

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.task import Task

POPULATION = 100
ELITE = 10
TOURNAMENT = 3
SHUFFLED = 0.01
"""Probability that an index of a child is exchanged with another."""


class Shortest(base.Fitness):
    """The makespan, to be minimised."""

    weights = (-1.0,)


class Individual(list[int]):
    """An order and its fitness."""

    fitness: Shortest


def genetic(task: Task) -> Numbers:
    """Use ordered crossover, exchanges, tournaments for parents, and an elite of a tenth."""
    # DEAP's operators use Python's global generator: set it for them, and restore it afterwards.
    before = random.getstate()
    random.seed(task.seed)
    try:
        return _evolve(task)
    finally:
        random.setstate(before)


def _evolve(task: Task) -> Numbers:
    size = min(POPULATION, task.evaluations)
    population: list[Individual] = []
    spent = 0
    while spent < size and (spent == 0 or task.proceed(spent / task.evaluations)):
        population.append(_individual(task, task.random.permutation(len(task))))
        spent += 1
    while spent < task.evaluations and task.proceed(spent / task.evaluations):
        # Checked for every child: a generation of a large batch takes minutes.
        children: list[Individual] = []
        wanted = min(size, task.evaluations - spent)
        while len(children) < wanted and task.proceed(spent / task.evaluations):
            children.append(_child(task, population))
            spent += 1
        elite = tools.selBest(population, ELITE)
        population = tools.selBest(elite + children, size)
    return np.array(tools.selBest(population, 1)[0], np.uint32)


def _individual(task: Task, order: Iterable[int]) -> Individual:
    made = Individual(int(index) for index in order)
    made.fitness = Shortest((task.makespan(np.asarray(made, np.uint32)),))
    return made


def _child(task: Task, population: list[Individual]) -> Individual:
    one, other = (list(parent) for parent in tools.selTournament(population, 2, TOURNAMENT))
    if len(one) > 1:
        tools.cxOrdered(one, other)
        tools.mutShuffleIndexes(one, SHUFFLED)
    return _individual(task, one)
