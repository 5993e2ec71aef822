"""How long tests run: HEDDLE_TEST_SCALE times as long as by default; `make test-full` sets 10."""

from __future__ import annotations

import math
import os

VARIABLE = "HEDDLE_TEST_SCALE"
"""Multiplies run lengths, random trials, hypothesis examples, kill points and the like."""


class ScaleError(ValueError):
    """The variable holds no number above 0; the message names it."""


def suite_scale() -> float:
    """The number that the environment gives; 1 where it gives none."""
    text = os.environ.get(VARIABLE, "1")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ScaleError(f"{VARIABLE}={text}: must be a number above 0")
    return value


def scaled(count: int, most: int | None = None) -> int:
    """A count that is right for the default suite, made as much larger as the environment says.

    Args:
        count: what the default suite has.
        most: there are no more than that, whatever the scale.

    Raises:
        ScaleError: the environment gives no scale.
    """
    found = max(1, round(count * suite_scale()))
    return found if most is None else min(found, most)
