"""Consecutive days of a small shop, and the expected outcomes of their nights."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.traces.replay.some_programs import TYPES
from tests.traces.some_transactions import manifest, table
from tests.trainer.nightly.killed_night import Moment
from tests.trainer.nightly.some_nights import FIRST, busy_hour
from traces.schema import TRANSACTION
from traces.writer import TraceWriter


@dataclass(frozen=True)
class Calendar:
    """Days by their number, from 1.

    Attributes:
        rates: share of requests in each day's peak hour that are in a conflict.
        promoted: days whose rate changes. The candidate is declared better, because so small a
            search need not find a better one.
        validated: a day whose rate changes, and on which the candidate is really measured.
        corrupt: a day with flipped bytes.
        empty: a day without a transaction.
        killed: nights whose first process is killed; a policy is served before each.
    """

    rates: tuple[float, ...]
    promoted: tuple[int, ...]
    validated: int
    corrupt: int
    empty: int
    killed: dict[int, Moment]

    def numbers(self) -> range:
        """Return the numbers of all days."""
        return range(1, len(self.rates) + 1)


EIGHT_DAYS = Calendar(
    rates=(1.00, 0.95, 0.90, 0.50, 0.50, 0.54, 0.80, 0.80),
    promoted=(1, 4),
    validated=7,
    corrupt=3,
    empty=5,
    killed={4: Moment.TRAINING},
)
"""Each event of a month except three of the kills."""

THIRTY_DAYS = Calendar(
    rates=(
        *(1.00, 0.95, 0.90, 1.00, 0.92),
        *(0.50, 0.52, 0.47, 0.50, 0.54),
        *(0.50, 0.50, 0.48, 0.51, 0.80),
        *(0.80, 0.75, 0.85, 0.80, 0.80),
        *(0.30, 0.30, 0.32, 0.28, 1.00),
        *(0.98, 1.00, 0.60, 0.60, 0.60),
    ),
    promoted=(1, 6, 15, 21, 25),
    validated=28,
    corrupt=12,
    empty=19,
    killed={6: Moment.TRAINING, 15: Moment.SERVING, 21: Moment.SERVED, 25: Moment.WRITING},
)


def day_of(number: int) -> date:
    """Return the date of a day by its number, from 1."""
    return FIRST + timedelta(days=number - 1)


def mixed_hour(of: date, rate: float) -> list[dict[str, Any]]:
    """Return an hour of requests with about this share of conflicts."""
    meeting, apart = busy_hour(of), busy_hour(of, apart=True)
    return [
        one if (at * 37 % 100) < 100 * rate else other
        for at, (one, other) in enumerate(zip(meeting, apart, strict=True))
    ]


def write_days(folder: Path, calendar: Calendar) -> Path:
    """Write a trace of the days, marked as synthetic."""
    with TraceWriter(folder, manifest(types=TYPES, synthetic=True)) as writer:
        for number, rate in enumerate(calendar.rates, start=1):
            writer.write(table(mixed_hour(day_of(number), rate)))
    _flip(_file(folder, calendar.corrupt))
    pq.write_table(TRANSACTION.empty_table(), _file(folder, calendar.empty))
    return folder


def _file(folder: Path, number: int) -> Path:
    (found,) = (folder / f"day={day_of(number)}").glob("*.parquet")
    return found


def _flip(path: Path) -> None:
    """Damage a file without changing its length or footer."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    for at in range(middle, middle + 16):
        content[at] ^= 0xFF
    path.write_bytes(content)
