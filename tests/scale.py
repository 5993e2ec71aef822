"""The length of tests: HEDDLE_TEST_SCALE times the default; `make test-full` sets 10."""

from __future__ import annotations

import math
import os

VARIABLE = "HEDDLE_TEST_SCALE"
"""Multiplies run lengths, random trials, Hypothesis examples, kill points and other counts."""


class ScaleError(ValueError):
    """Raised if the variable is not a number above 0; the message names it."""


def suite_scale() -> float:
    """Return the scale that the environment sets; 1 if it sets none."""
    text = os.environ.get(VARIABLE, "1")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ScaleError(f"{VARIABLE}={text}: must be a number above 0")
    return value


def scaled(count: int, most: int | None = None) -> int:
    """Return a count of the default suite, multiplied by the scale.

    Args:
        count: the count in the default suite.
        most: the limit at any scale.

    Raises:
        ScaleError: the environment sets an invalid scale.
    """
    found = max(1, round(count * suite_scale()))
    return found if most is None else min(found, most)
