"""What of a peak hour is trained on, and what is held out to judge on.

The hour is cut in time: its first minutes are trained on, its last are held out, cut into blocks.
No transaction is in both. A policy is judged on what came after what it has seen, as it will be
when it is served. Rows and sessions may be in both, as they are tomorrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from traces.reader import Trace
from traces.replay.inputs import InputReader
from traces.replay.part import MINUTE_US, choose_part
from trainer.nightly.conditions import Conditions
from trainer.nightly.errors import NothingToJudgeError

BLOCKS_MIN = 3
"""Fewer say nothing about how sure a ratio is."""

SESSIONS_A_CORE = 4
"""So many sessions in a block for each core that replays it, where the hour has them."""

HOUR_MINUTES = 60


@dataclass(frozen=True)
class Split:
    """A peak hour in two, as `workload.hours` takes the spans.

    Attributes:
        training: the span that is trained on.
        blocks: those that are judged on, one after the other.
    """

    training: str
    blocks: tuple[str, ...]

    @property
    def held_out(self) -> str:
        """The blocks as one span."""
        return f"{self.blocks[0].split('-')[0]}-{self.blocks[-1].split('-')[1]}"


def split(trace: Trace, peak: Conditions, minutes: int, blocks: int, cores: int) -> Split:
    """Hold out the last minutes of a peak hour, in as many blocks as can be replayed well.

    A session is replayed by one core at a time: every part needs as many sessions as there are
    cores. Blocks with fewer than `SESSIONS_A_CORE` for each core are longer ones, and fewer: the
    fewer sessions, the fewer of them are after the same rows at the same time, and the less a block
    is like the hour that it is of.

    Args:
        trace: of which.
        peak: its day and hour.
        minutes: to hold out.
        blocks: at most.
        cores: that replay.

    Raises:
        NothingToJudgeError: a part has too few sessions.
        TraceError: the day is damaged.
    """
    sessions = _sessions_by_minute(trace, peak)
    first = HOUR_MINUTES - minutes
    found = _distinct(sessions[:first])
    if found < cores:
        raise _too_few(peak, _span(peak, 0, first), found, cores, "to train on")
    for count in range(min(blocks, minutes), BLOCKS_MIN - 1, -1):
        edges = [first + minutes * at // count for at in range(count + 1)]
        spans = list(pairwise(edges))
        found = min(_distinct(sessions[begin:end]) for begin, end in spans)
        wanted = cores if count == BLOCKS_MIN else cores * SESSIONS_A_CORE
        if found >= wanted:
            parts = tuple(_span(peak, begin, end) for begin, end in spans)
            return Split(_span(peak, 0, first), parts)
    raise _too_few(peak, f"a block of {BLOCKS_MIN} held out", found, cores, "to judge on")


def _too_few(
    peak: Conditions, part: str, found: int, cores: int, purpose: str
) -> NothingToJudgeError:
    return NothingToJudgeError(
        f"{peak.day}: {part} has {found} sessions {purpose}, fewer than the {cores} cores; take "
        f"fewer with machine.cores, or more of the hour with held_out.minutes"
    )


def _span(peak: Conditions, begin: int, end: int) -> str:
    return f"{_clock(peak, begin)}-{_clock(peak, end)}"


def _clock(peak: Conditions, minute: int) -> str:
    hour, past = divmod(peak.hour * HOUR_MINUTES + minute, HOUR_MINUTES)
    return f"{hour}:{past:02}"


def _distinct(minutes: list[set[int]]) -> int:
    return len(set().union(*minutes))


def _sessions_by_minute(trace: Trace, peak: Conditions) -> list[set[int]]:
    """The sessions that can be replayed, by the minute in which their transactions began."""
    part = choose_part(trace, f"{peak.day}", peak.hours)
    found: list[set[int]] = [set() for _ in range(HOUR_MINUTES)]
    for inputs in InputReader(trace, part).batches():
        minutes = (inputs.begin - part.first_us) // MINUTE_US
        for minute in np.unique(minutes):
            found[minute].update(inputs.session[minutes == minute].tolist())
    return found
