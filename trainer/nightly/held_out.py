"""Dividing a peak hour into a training part and held-out blocks.

The hour is divided by time: its first minutes are the training part, its last minutes are held out
and cut into blocks. No transaction is in both. A policy is thus evaluated on transactions after its
training, as when it is published. Rows and sessions may be in both, as they are on the next day.
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
"""With fewer blocks an interval is meaningless."""

SESSIONS_A_CORE = 4
"""The minimum number of sessions per core in a block, if the hour has as many."""

HOUR_MINUTES = 60


@dataclass(frozen=True)
class Split:
    """A divided peak hour, with its spans as values of `workload.hours`.

    Attributes:
        training: the training part.
        blocks: the held-out blocks, in order.
    """

    training: str
    blocks: tuple[str, ...]

    @property
    def held_out(self) -> str:
        """The span of all blocks."""
        return f"{self.blocks[0].split('-')[0]}-{self.blocks[-1].split('-')[1]}"


def split(trace: Trace, peak: Conditions, minutes: int, blocks: int, cores: int) -> Split:
    """Hold out the last minutes of a peak hour, in as many blocks as can be replayed well.

    One core replays a session, so every part needs as many sessions as cores. If a block has fewer
    than `SESSIONS_A_CORE` per core, blocks are longer and fewer: with fewer sessions, fewer of them
    access the same rows at the same time, and a block is less like its hour.

    Args:
        trace: the trace.
        peak: its day and hour.
        minutes: to hold out.
        blocks: the maximum number of blocks.
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
    raise _too_few(peak, f"one of {BLOCKS_MIN} held-out blocks", found, cores, "to evaluate on")


def _too_few(
    peak: Conditions, part: str, found: int, cores: int, purpose: str
) -> NothingToJudgeError:
    return NothingToJudgeError(
        f"{peak.day}: {part} has {found} sessions {purpose}, fewer than the {cores} cores; set "
        f"machine.cores to fewer, or change held_out.minutes"
    )


def _span(peak: Conditions, begin: int, end: int) -> str:
    return f"{_clock(peak, begin)}-{_clock(peak, end)}"


def _clock(peak: Conditions, minute: int) -> str:
    hour, past = divmod(peak.hour * HOUR_MINUTES + minute, HOUR_MINUTES)
    return f"{hour}:{past:02}"


def _distinct(minutes: list[set[int]]) -> int:
    return len(set().union(*minutes))


def _sessions_by_minute(trace: Trace, peak: Conditions) -> list[set[int]]:
    """Return the sessions that can be replayed, by the minute of their transactions' start."""
    part = choose_part(trace, f"{peak.day}", peak.hours)
    found: list[set[int]] = [set() for _ in range(HOUR_MINUTES)]
    for inputs in InputReader(trace, part).batches():
        minutes = (inputs.begin - part.first_us) // MINUTE_US
        for minute in np.unique(minutes):
            found[minute].update(inputs.session[minutes == minute].tolist())
    return found
