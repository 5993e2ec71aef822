"""A mean that is robust against single disturbed slices."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

TRIMMED = 4
"""The inverse of the share of samples that is left out at each end."""


def trimmed_mean(values: Sequence[float]) -> float:
    """Return the mean of the middle half of the values, or of all if there are fewer than four.

    Args:
        values: at least one value, in any order.
    """
    cut = len(values) // TRIMMED
    return statistics.fmean(sorted(values)[cut : len(values) - cut])
