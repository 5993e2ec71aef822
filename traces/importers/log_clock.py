"""Resolves local times that a zone has twice or not at all, by the order of the log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TWICE = "time that the zone has twice: told by the order of the log"
SKIPPED = "time that the zone's clock skips: counted on from before"


@dataclass(frozen=True)
class ResolvedTimes:
    """Resolved times, and which of them are guesses.

    Attributes:
        us: microseconds since 1970 (UTC), int64.
        twice: which are one of two.
        skipped: which do not exist in the zone.
    """

    us: np.ndarray
    twice: np.ndarray
    skipped: np.ndarray


class LogClock:
    """Resolves which of two instants a local time is, while the log is read in order.

    It is the first, unless that is too far before the newest time of the log; then the clock was
    set back in between.

    Args:
        late_us: the time by which a row may be late.
    """

    def __init__(self, late_us: int) -> None:
        self._late = late_us
        self._newest: int | None = None

    def resolve(self, first: np.ndarray, second: np.ndarray) -> ResolvedTimes:
        """Resolve the next times of the log.

        Args:
            first: the first candidates, see `traces.importers.log_times.Times`; without nulls.
            second: the second candidates, of the same form.
        """
        twice, us = second > first, first.copy()
        certain = np.where(twice, np.iinfo(np.int64).min, first)
        reached = np.maximum.accumulate(certain) if len(certain) else certain
        newest = self._newest
        for row in np.flatnonzero(twice).tolist():
            shift = int(second[row] - first[row])
            before = int(reached[row]) if newest is None else max(newest, int(reached[row]))
            if int(first[row]) < before - min(self._late, shift // 2):
                us[row] = second[row]
            newest = max(before, int(us[row]))
        if len(us):
            self._newest = int(us.max()) if newest is None else max(newest, int(us.max()))
        return ResolvedTimes(us, twice, second < first)
