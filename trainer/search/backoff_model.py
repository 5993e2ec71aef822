"""What a backoff is worth, learned from the tables measured, where there is one type.

A type has seven cells of backoff, ordered ones, and throughput is a smooth function of them: what
is near a good backoff is good. A measurement is off by a twentieth or more. So a Gaussian
process (scikit-learn's) is fitted to the logarithm of the fitness of the tables measured: it
averages over neighbours, and says how sure it is where none was measured. A backoff is proposed by
Thompson sampling: a function is drawn from the process, and the highest point among the backoffs
near the table's own, near the best known and anywhere is what is tried.

Besides the backoff the process is told what else a fitness rests on: how far the rest of the table
is from the one that a backoff is proposed for, and how many slices it was measured for, as short
runs flatter some backoffs. Told of tables that differ in the backoff alone, it foretells better and
searches worse: it is too sure of the little that it knows (`docs/results.md`).

Several types have too many cells for that: three have twenty-one, whose worth hangs on the rest of
the table.
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
"""What a table reached, and over how many slices."""

FEWEST = 16
"""Tables that are to be measured before it proposes any."""

KNOWN_MAX = 320
"""Tables that it rests on at most: a fit takes their number cubed."""

FITTEST = 40
"""So many of them are the fittest of all; the others are those measured last."""

SLICE_ERROR = 0.1
"""Relative standard error of one slice, at least."""

NOISE = (1e-3, 1.0)
"""Bounds of the variance of a sample's noise, as a share of that of all fitnesses."""

NEAR = 48
"""Backoffs with up to `CHANGES` cells drawn anew, from each of those that a draw begins from …"""

CHANGES = 3

BESTS = 4
"""… which are the table's own and those of so many of the fittest …"""

ANYWHERE = 64
"""… and, besides, so many drawn at random."""


class BackoffModel:
    """See the module.

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
        """What a table reached, over all slices it has had. One that can't run says nothing."""
        self._fitted = None
        self._proposed.clear()
        self._known.pop(vector, None)
        if fitness > 0.0 and math.isfinite(fitness):
            self._known[vector] = (fitness, slices)
        if len(self._known) > KNOWN_MAX:
            fittest = self._fittest(FITTEST)
            del self._known[next(one for one in self._known if one not in fittest)]

    def propose(self, vector: Vector) -> Change:
        """A backoff for a table that no table known has, nor one proposed since the last was told.

        Nothing before enough tables are known.
        """
        if len(self._known) < FEWEST or all(len(values) == 1 for values in self._values):
            return {}
        met = {self._backoff_of(one) for one in [vector, *self._known]} | self._proposed
        tried = [one for one in self._tried(vector) if one not in met]
        if not tried:
            return {}
        longest = max(slices for _, slices in self._known.values())
        points = np.array([_point(backoff, 0, longest) for backoff in tried])
        drawn = _function_drawn(self._process(vector), points, self._random)
        best = tried[int(np.argmax(drawn))]
        self._proposed.add(best)
        return dict(zip(self._cells, best, strict=True))

    def state_dict(self) -> list[Any]:
        """As JSON values."""
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
        return sorted(self._known, key=lambda one: -self._known[one][0])[:count]

    def _tried(self, vector: Vector) -> list[Vector]:
        """Backoffs from which the one to propose is chosen, each once."""
        best = [vector, *self._fittest(BESTS)]
        begins = dict.fromkeys(self._backoff_of(one) for one in best)
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
        """The Gaussian process, distances taken from this table."""
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
    """A Gaussian process through values with errors, its length scales fitted.

    What it says is of values whose mean is 0 and whose standard deviation is 1.
    """
    # Slow to import, and only needed where there is one type.
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
        # A scale at its bound is as good as one beyond.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return process.fit(points, (values - np.mean(values)) / scale)


def _function_drawn(process: Any, points: Points, random: Random) -> Points:
    """The values of a function drawn from the process, without the noise of measuring them."""
    mean, covariance = process.predict(points, return_cov=True)
    # The noise is the same for all, and what the covariance has in its diagonal besides.
    values, vectors = np.linalg.eigh(covariance)
    spread = np.sqrt(np.clip(values - process.kernel_.k2.noise_level, 0.0, None))
    normal = np.array([random.gauss(0.0, 1.0) for _ in points])
    # The symmetric root: that does not hang on which vectors span a space of equal values.
    return mean + vectors @ (spread * (vectors.T @ normal))


def _point(backoff: Sequence[int], distance: int, slices: int) -> list[float]:
    """Where a table stands: each cell 0..1 in steps that mean alike; then what else counts."""
    begin, *factors = backoff
    alphas = (np.log1p(ALPHAS[factor]) for factor in factors)
    steps = [float(alpha / np.log1p(ALPHAS[-1])) for alpha in alphas]
    begins = begin / (len(INITIAL_US) - 1)
    return [begins, *steps, float(np.log1p(distance)), float(np.log2(slices)) / 4.0]


def _distance(one: Vector, other: Vector) -> int:
    """In how many cells they differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))
