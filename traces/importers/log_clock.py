"""Local times that a zone has twice or not at all, told by the order of the log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TWICE = "time that the zone has twice: told by the order of the log"
SKIPPED = "time that the zone's clock skips: counted on from before"


@dataclass(frozen=True)
class Told:
    """Times that were told, and which of them were guessed.

    Attributes:
        us: microseconds since 1970 (UTC), int64.
        twice: which are one of two.
        skipped: which are no times of the zone.
    """

    us: np.ndarray
    twice: np.ndarray
    skipped: np.ndarray


class LogClock:
    """Tells which of two moments a local time is, while the log goes by in the order of time.

    It is the first, unless that lies too far behind what the log came to before; then the clock was
    set back in between.

    Args:
        late_us: by so much a row may be late.
    """

    def __init__(self, late_us: int) -> None:
        self._late = late_us
        self._newest: int | None = None

    def tell(self, first: np.ndarray, second: np.ndarray) -> Told:
        """Tell the next times of the log.

        Args:
            first: see `traces.importers.log_times.Times`; without nulls.
            second: another, of the same form.
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
        return Told(us, twice, second < first)
