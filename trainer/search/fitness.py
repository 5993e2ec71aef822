"""The fitness of an individual, as DEAP's operators expect it."""

from __future__ import annotations

from deap import base


class Fitness(base.Fitness):
    """A single number, to be maximised."""

    weights = (1.0,)
