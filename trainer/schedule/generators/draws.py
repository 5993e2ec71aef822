"""Parameters of generators, and their random draws."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from trainer.schedule.batch import Operation

FILLER: Operation = ("*", None)


def setting(default: float, least: float, most: float, words: str) -> Any:
    """Return a generator's field with a default, an inclusive range, and a description."""
    return field(default=default, metadata={"range": (least, most), "help": words})


def read(*key: object) -> Operation:
    """Return a read of a key: a table and numbers."""
    return ("r", "-".join(map(str, key)))


def write(*key: object) -> Operation:
    """Return a write of a key."""
    return ("w", "-".join(map(str, key)))


class Zipf:
    """Draws ranks from 0; rank i has a probability proportional to 1 / (i + 1)^theta."""

    def __init__(self, count: int, theta: float, random: np.random.Generator) -> None:
        weights = np.arange(1, count + 1, dtype=float) ** -theta
        self._shares: npt.NDArray[np.float64] = np.cumsum(weights) / weights.sum()
        self._last = count - 1
        self._random = random

    def draw(self) -> int:
        """Draw a rank."""
        return min(int(np.searchsorted(self._shares, self._random.random())), self._last)
