"""Describe the number and the length of a comparison's runs, and the runs that deviate."""

from __future__ import annotations

import statistics

from envs.comparison import Comparison
from traces.spelling import visible

OFF = 0.02
"""Relative deviation from the requested window above which a run is listed."""
NAMED_MAX = 3
"""Maximum number of runs listed; the others are counted."""


def run_seconds(comparison: Comparison) -> float:
    """Return the requested length of a run in seconds, or the median length if unknown."""
    if comparison.seconds is not None:
        return comparison.seconds
    return statistics.median(r.duration_s for row in comparison.rows for r in row.repeats)


def runs_words(comparison: Comparison) -> str:
    """Return text such as `median of 3 interleaved runs of 0.5 s each`."""
    counts = [len(row.repeats) for row in comparison.rows]
    low, high = min(counts), max(counts)
    each = f"of {run_seconds(comparison):.3g} s each"
    if high == 1:
        return f"one run {each}, which has no spread"
    return f"median of {low if low == high else f'{low}–{high}'} interleaved runs {each}"


def window_remarks(comparison: Comparison) -> list[str]:
    """Return remarks on runs with another window than requested, or without commits."""
    asked = run_seconds(comparison)
    off = [
        f"run {number} of {visible(row.subject.name)} measured {result.duration_s:.3g} s"
        for row in comparison.rows
        for number, result in enumerate(row.repeats, start=1)
        if abs(result.duration_s - asked) > OFF * asked
    ]
    empty = [
        f"run {number} of {visible(row.subject.name)} committed nothing"
        for row in comparison.rows
        for number, result in enumerate(row.repeats, start=1)
        if result.commits == 0
    ]
    return _first_of(off) + _first_of(empty)


def _first_of(remarks: list[str]) -> list[str]:
    more = len(remarks) - NAMED_MAX
    return [*remarks[:NAMED_MAX], *([f"and so did {more} more"] if more > 0 else [])]
