"""Chooses the transaction types that have a column in a table of statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from traces.spelling import visible
from traces.statistics.hours import Hour
from traces.statistics.measure import TraceStatistics

TYPES_SHOWN = 8
"""The maximum number of columns; the least frequent types share the last."""


@dataclass(frozen=True)
class TypeColumns:
    """Columns of transaction types.

    Attributes:
        shown: types with a column of their own.
        others: types that share the last column; if empty, there is no such column.
    """

    shown: tuple[str, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, found: TraceStatistics) -> TypeColumns:
        """Choose the columns for the statistics of a trace."""
        types = found.types
        if len(types) <= TYPES_SHOWN:
            return cls(types, ())
        counts = _requests(hour for day in found.days for hour in day.hours)
        most = {name for name, _ in counts.most_common(TYPES_SHOWN - 1)}
        return cls(
            tuple(name for name in types if name in most),
            tuple(name for name in types if name not in most),
        )

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        rest = [f"{len(self.others):,} other types"] if self.others else []
        return [*map(visible, self.shown), *rest]

    def cells(self, *hours: Hour) -> list[str]:
        """Return the requests of hours, by column and in total."""
        counts = _requests(hours)
        rest = [sum(counts[name] for name in self.others)] if self.others else []
        found = (*(counts[name] for name in self.shown), *rest, counts.total())
        return [f"{count:,}" for count in found]


def _requests(hours: Iterable[Hour]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for hour in hours:
        counts.update(hour.requests)
    return counts
