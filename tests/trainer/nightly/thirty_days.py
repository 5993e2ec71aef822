"""Thirty days of a small shop: what each is like, and how its night must end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from envs import Comparison, Subject
from tests.traces.replay.some_programs import TYPES
from tests.traces.some_transactions import manifest, table
from tests.trainer.nightly.some_nights import FIRST, busy_hour
from tests.trainer.nightly.test_judge import blocks
from traces.schema import TRANSACTION
from traces.writer import TraceWriter
from trainer.nightly.judge import CANDIDATE

CORRUPT, EMPTY = 12, 19
"""Days by their number, from 1: one with flipped bytes, one without a transaction."""

RATES = (
    *(1.00, 0.95, 0.90, 1.00, 0.92),
    *(0.50, 0.52, 0.47, 0.50, 0.54),
    *(0.50, 0.50, 0.48, 0.51, 0.80),
    *(0.80, 0.75, 0.85, 0.80, 0.80),
    *(0.30, 0.30, 0.32, 0.28, 1.00),
    *(0.98, 1.00, 0.60, 0.60, 0.60),
)
"""Of each day's peak hour about so many requests are in a conflict."""

PROMOTED = (1, 6, 15, 21, 25)
"""Where it moves, and the candidate is given to be better, whatever so small a search finds."""

JUDGED = 28
"""From here on it has moved too, and what the candidate reaches is really measured."""


def day_of(number: int) -> date:
    """A day by its number, from 1."""
    return FIRST + timedelta(days=number - 1)


def mixed_hour(of: date, rate: float) -> list[dict[str, Any]]:
    """An hour of which about so many requests meet others, and the rest nobody."""
    meeting, apart = busy_hour(of), busy_hour(of, apart=True)
    return [
        one if (at * 37 % 100) < 100 * rate else other
        for at, (one, other) in enumerate(zip(meeting, apart, strict=True))
    ]


def thirty_days(folder: Path) -> Path:
    """A trace of them, marked as made up."""
    with TraceWriter(folder, manifest(types=TYPES, synthetic=True)) as writer:
        for number, rate in enumerate(RATES, start=1):
            writer.write(table(mixed_hour(day_of(number), rate)))
    _flip(_file(folder, CORRUPT))
    pq.write_table(TRANSACTION.empty_table(), _file(folder, EMPTY))
    return folder


def candidate_is_better(
    config: Any, hours: Sequence[str], subjects: Sequence[Subject], display: Any
) -> list[Comparison]:
    """What a night measures on the blocks of a day of `PROMOTED`."""
    others = {one.name: 100.0 for one in subjects if one.name != CANDIDATE}
    return blocks([110, 120, 130], **others)


def _file(folder: Path, number: int) -> Path:
    (found,) = (folder / f"day={day_of(number)}").glob("*.parquet")
    return found


def _flip(path: Path) -> None:
    """Damage that leaves the file's length and its footer as they were."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    for at in range(middle, middle + 16):
        content[at] ^= 0xFF
    path.write_bytes(content)
