"""Follows waits to what the blocker was doing meanwhile: the critical path.

While a transaction waits, it makes as much progress as the one that ends its wait. So the time of a
wait is divided among the steps of the blocker in the same period, clipped to it. If the blocker
waits in turn, its blocker is followed, and so on (Huang 2019, §2.3.3.3, algorithm 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trainer.variance.steps import NONE, Integers, Segments, Waits

LONGEST_CHAIN = 256
"""Waits that are followed one after the other: as many as a machine has cores."""
CHUNK = 2_000
"""Waits that are followed at a time, which bounds the memory."""


@dataclass(frozen=True)
class Pieces:
    """Parts of waits, each with the step that ran meanwhile.

    The pieces of a wait add up to its length.

    Attributes:
        wait: index of the wait in the segments.
        step: index of the segment that ran meanwhile; `NONE` if the recording does not show it.
        ticks: length of each.
    """

    wait: Integers
    step: Integers
    ticks: Integers


def followed(
    segments: Segments, waits: Integers, *, longest: int = LONGEST_CHAIN, chunk: int = CHUNK
) -> Iterator[Pieces]:
    """Divide waits among the steps that ran meanwhile on their critical paths.

    Args:
        segments: the steps of all cores, by core and time.
        waits: indices of the waits to follow.
        longest: the number of waits that are followed one after the other. A longer chain ends in a
            wait.
        chunk: the number of waits that are followed at a time.
    """
    walk = _Walk(segments)
    for first in range(0, waits.size, chunk):
        yield walk.follow(waits[first : first + chunk], longest)


class _Walk:
    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        # Times of different cores in one order, for one search: no core's times reach the next's.
        # Real clocks have counted for months, so that only the time since the first step fits.
        self._origin = int(segments.begin.min()) if len(segments) else 0
        self._stride = int(segments.end.max(initial=0)) - self._origin + 1
        self._begins = self._place(segments.core, segments.begin)
        self._ends = self._place(segments.core, segments.end)
        self._waits = (segments.waits != Waits.NOTHING) & (segments.blocker != NONE)

    def _place(self, core: Integers, time: Integers) -> Integers:
        return core * self._stride + (time - self._origin)

    def follow(self, waits: Integers, longest: int) -> Pieces:
        segments = self._segments
        done: list[Pieces] = []
        origin, begin, end = waits, segments.begin[waits], segments.end[waits]
        blocked = waits
        for _ in range(longest):
            unknown = segments.blocker[blocked] == NONE
            done.append(Pieces(origin[unknown], blocked[unknown], (end - begin)[unknown]))
            known = ~unknown
            origin, begin, end = origin[known], begin[known], end[known]
            origin, begin, end, step, missing = self._meanwhile(origin, begin, end, blocked[known])
            done.append(missing)
            waiting = self._waits[step]
            # A core that waits for the origin's own core makes no progress for it: the path ends.
            waiting &= segments.blocker[step] != segments.core[origin]
            ran = ~waiting
            done.append(Pieces(origin[ran], step[ran], (end - begin)[ran]))
            origin, begin, end = origin[waiting], begin[waiting], end[waiting]
            blocked = step[waiting]
            if not origin.size:
                break
        done.append(Pieces(origin, blocked, end - begin))
        return Pieces(
            np.concatenate([pieces.wait for pieces in done]),
            np.concatenate([pieces.step for pieces in done]),
            np.concatenate([pieces.ticks for pieces in done]),
        )

    def _meanwhile(
        self, origin: Integers, begin: Integers, end: Integers, blocked: Integers
    ) -> tuple[Integers, Integers, Integers, Integers, Pieces]:
        """Return the steps of the blocker in each period, clipped, and what is missing of it.

        The blocker is a transaction. What its core executes before or after that is missing.
        """
        core = self._segments.blocker[blocked]
        first = np.searchsorted(self._ends, self._place(core, begin), side="right")
        last = np.searchsorted(self._begins, self._place(core, end), side="left")
        counts = np.maximum(last - first, 0)
        period = np.repeat(np.arange(origin.size), counts)
        offset = np.arange(period.size) - np.repeat(np.cumsum(counts) - counts, counts)
        step = np.repeat(first, counts) + offset
        its_own = self._segments.run[step] == self._segments.blocker_run[blocked[period]]
        period, step = period[its_own], step[its_own]
        clipped_begin = np.maximum(begin[period], self._segments.begin[step])
        clipped_end = np.minimum(end[period], self._segments.end[step])
        found = np.bincount(period, clipped_end - clipped_begin, minlength=origin.size)
        left = end - begin - found.astype(np.int64)
        short = left > 0
        nobody = np.full(np.count_nonzero(short), NONE, dtype=np.int64)
        missing = Pieces(origin[short], nobody, left[short])
        return origin[period], clipped_begin, clipped_end, step, missing
