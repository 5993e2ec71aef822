"""A model of the backoff, learned from the measured tables, for workloads with one type.

A type has seven ordered backoff cells, and throughput is a smooth function of them. A measurement
is off by a twentieth or more. So a Gaussian process (scikit-learn's) is fitted to the logarithm of
the fitness: it averages over neighbours, and its variance is large where nothing was measured. A
backoff is proposed by Thompson sampling. A function is drawn from the process, and the proposal is
its maximum over three kinds of backoffs: near the table's own, near the best known, and anywhere.

The process has two more inputs: the distance of the rest of the table from the one that a backoff
is proposed for, and the number of slices, since short runs overestimate some backoffs. Fitted only
to tables that differ in the backoff alone, it predicts better and searches worse, because it
underestimates its variance (`docs/results.md`).

Several types have too many cells for this: three have twenty-one, whose effect depends on the rest
of the table.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policies.document import ALPHAS, INITIAL_US
from trainer.search.layout import Layout
from trainer.search.moves import Change
from trainer.search.space import Space

Vector = tuple[int, ...]
Points = NDArray[np.float64]
Known = tuple[float, int]
"""The fitness of a table, and its number of slices."""

FEWEST = 16
"""The number of measured tables before the first proposal."""

KNOWN_MAX = 320
"""The maximum number of tables in a fit, whose cost grows with the cube of their number."""

FITTEST = 40
"""The number of fittest tables among them; the others are those measured last."""

SLICE_ERROR = 0.1
"""Minimum relative standard error of one slice."""

NOISE = (1e-3, 1.0)
"""Bounds of the variance of a sample's noise, as a share of the variance of all fitnesses."""

NEAR = 48
"""The number of backoffs drawn near each starting point, with up to `CHANGES` cells redrawn."""

CHANGES = 3

BESTS = 4
"""The number of fittest tables whose backoffs are starting points, with the table's own."""

ANYWHERE = 64
"""The number of backoffs drawn uniformly."""


class BackoffModel:
    """Proposes backoffs from a Gaussian process (see the module).

    Args:
        space: of the tables.
        layout: of the tables.
        random: the source of randomness.
    """

    def __init__(self, space: Space, layout: Layout, random: Random) -> None:
        self._cells = layout.backoff(0)
        self._values = [space.values[cell] for cell in self._cells]
        self._random = random
        self._known: dict[Vector, Known] = {}
        self._proposed: set[Vector] = set()
        self._fitted: tuple[Vector, Any] | None = None

    def tell(self, vector: Vector, fitness: float, slices: int) -> None:
        """Add the measurement of a table over all its slices. One that can't run is ignored."""
        self._fitted = None
        self._proposed.clear()
        self._known.pop(vector, None)
        if fitness > 0.0 and math.isfinite(fitness):
            self._known[vector] = (fitness, slices)
        if len(self._known) > KNOWN_MAX:
            fittest = self._fittest(FITTEST)
            del self._known[next(table for table in self._known if table not in fittest)]

    def propose(self, vector: Vector) -> Change:
        """Return a new backoff for a table: neither known nor proposed since the last `tell`.

        Returns an empty change until enough tables are known.
        """
        if len(self._known) < FEWEST or all(len(values) == 1 for values in self._values):
            return {}
        met = {self._backoff_of(table) for table in [vector, *self._known]} | self._proposed
        tried = [table for table in self._tried(vector) if table not in met]
        if not tried:
            return {}
        longest = max(slices for _, slices in self._known.values())
        points = np.array([_point(backoff, 0, longest) for backoff in tried])
        drawn = _function_drawn(self._process(vector), points, self._random)
        best = tried[int(np.argmax(drawn))]
        self._proposed.add(best)
        return dict(zip(self._cells, best, strict=True))

    def state_dict(self) -> list[Any]:
        """Return the state, as JSON values."""
        return [[list(vector), *known] for vector, known in self._known.items()]

    def load_state_dict(self, state: list[Any]) -> None:
        """Resume from a state."""
        self._fitted = None
        self._proposed.clear()
        self._known = {tuple(vector): (fitness, slices) for vector, fitness, slices in state}

    def _backoff_of(self, vector: Vector) -> Vector:
        return vector[self._cells.start : self._cells.stop]

    def _rest_of(self, vector: Vector) -> Vector:
        return vector[: self._cells.start] + vector[self._cells.stop :]

    def _fittest(self, count: int) -> list[Vector]:
        return sorted(self._known, key=lambda table: -self._known[table][0])[:count]

    def _tried(self, vector: Vector) -> list[Vector]:
        """Return the candidate backoffs for a table, without duplicates."""
        best = [vector, *self._fittest(BESTS)]
        begins = dict.fromkeys(self._backoff_of(table) for table in best)
        found = dict.fromkeys(begins)
        for begin in begins:
            for _ in range(NEAR):
                found[self._near(begin)] = None
        for _ in range(ANYWHERE):
            found[tuple(self._random.choice(values) for values in self._values)] = None
        return list(found)

    def _near(self, backoff: Vector) -> Vector:
        changed = list(backoff)
        count = self._random.randint(1, CHANGES)
        for at in self._random.sample(range(len(changed)), count):
            changed[at] = self._random.choice(self._values[at])
        return tuple(changed)

    def _process(self, vector: Vector) -> Any:
        """Fit the Gaussian process, with distances measured from this table."""
        rest = self._rest_of(vector)
        if self._fitted is None or self._fitted[0] != rest:
            points = np.array(
                [
                    _point(self._backoff_of(one), _distance(self._rest_of(one), rest), slices)
                    for one, (_, slices) in self._known.items()
                ]
            )
            fitness = np.log([fitness for fitness, _ in self._known.values()])
            slices = np.array([slices for _, slices in self._known.values()], dtype=np.float64)
            process = _process_through(points, fitness, SLICE_ERROR / np.sqrt(slices))
            self._fitted = (rest, process)
        return self._fitted[1]


def _process_through(points: Points, values: Points, errors: Points) -> Any:
    """Fit a Gaussian process, with its length scales, to values with errors.

    It predicts values with mean 0 and standard deviation 1.
    """
    # Imported here because it is slow to import and needed only for workloads with one type.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    scale = max(float(np.std(values)), 1e-6)
    lengths = np.full(points.shape[1], 0.7)
    smooth = ConstantKernel(1.0, (0.05, 20.0)) * Matern(lengths, (0.3, 10.0), nu=2.5)
    process = GaussianProcessRegressor(
        smooth + WhiteKernel(0.1, NOISE),
        alpha=(errors / scale) ** 2,
    )
    with warnings.catch_warnings():
        # A scale at its bound is as good as one beyond it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return process.fit(points, (values - np.mean(values)) / scale)


def _function_drawn(process: Any, points: Points, random: Random) -> Points:
    """Draw a function from the process and return its values, without measurement noise."""
    mean, covariance = process.predict(points, return_cov=True)
    # The noise is the same for all points; the diagonal of the covariance also has a small offset.
    values, vectors = np.linalg.eigh(covariance)
    spread = np.sqrt(np.clip(values - process.kernel_.k2.noise_level, 0.0, None))
    normal = np.array([random.gauss(0.0, 1.0) for _ in points])
    # The symmetric root does not depend on the choice of eigenvectors for equal eigenvalues.
    return mean + vectors @ (spread * (vectors.T @ normal))


def _point(backoff: Sequence[int], distance: int, slices: int) -> list[float]:
    """Return a table's coordinates: each cell on a scale 0..1, then the distance and slices."""
    begin, *factors = backoff
    alphas = (np.log1p(ALPHAS[factor]) for factor in factors)
    steps = [float(alpha / np.log1p(ALPHAS[-1])) for alpha in alphas]
    begins = begin / (len(INITIAL_US) - 1)
    return [begins, *steps, float(np.log1p(distance)), float(np.log2(slices)) / 4.0]


def _distance(one: Vector, other: Vector) -> int:
    """Count the cells in which two tables differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))
