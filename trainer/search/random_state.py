"""The state of a random generator as JSON values, for checkpoints."""

from __future__ import annotations

from random import Random
from typing import Any


def random_state(random: Random) -> list[Any]:
    """Return the state of a generator, for `load_random`."""
    version, internal, gauss = random.getstate()
    return [version, list(internal), gauss]


def load_random(random: Random, state: list[Any]) -> None:
    """Restore the state of a generator."""
    version, internal, gauss = state
    random.setstate((version, tuple(internal), gauss))
