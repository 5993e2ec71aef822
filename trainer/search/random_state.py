"""The state of a random generator as JSON values, as checkpoints hold it."""

from __future__ import annotations

from random import Random
from typing import Any


def random_state(random: Random) -> list[Any]:
    """What `load_random` takes."""
    version, internal, gauss = random.getstate()
    return [version, list(internal), gauss]


def load_random(random: Random, state: list[Any]) -> None:
    """Resume from a state."""
    version, internal, gauss = state
    random.setstate((version, tuple(internal), gauss))
