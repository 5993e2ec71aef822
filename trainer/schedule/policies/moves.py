"""Steps from one order to another."""

from __future__ import annotations

import numpy as np

from trainer.schedule.batch import Numbers

Pair = tuple[int, int]


def random_pair(size: int, random: np.random.Generator) -> Pair:
    """Return two different places of an order of at least two, in ascending order."""
    first = int(random.integers(size))
    second = (first + 1 + int(random.integers(size - 1))) % size
    return min(first, second), max(first, second)


def exchanged(order: Numbers, places: Pair) -> Numbers:
    """Return the order with two places exchanged."""
    result = order.copy()
    result[list(places)] = order[list(reversed(places))]
    return result
