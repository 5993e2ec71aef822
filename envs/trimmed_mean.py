"""The mean that single disturbed slices do not spoil."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

TRIMMED = 4
"""One sample in so many is left out at each end: other programs disturb single slices badly."""


def trimmed_mean(values: Sequence[float]) -> float:
    """Mean of the middle half; of all values when there are fewer than four."""
    cut = len(values) // TRIMMED
    return statistics.fmean(sorted(values)[cut : len(values) - cut])
