"""Which transaction types have a column of their own in a table of statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from traces.spelling import visible
from traces.statistics.hours import Hour
from traces.statistics.measure import TraceStatistics

TYPES_SHOWN = 8
"""Columns at most; with more types, those that are least frequent share one."""


@dataclass(frozen=True)
class TypeColumns:
    """Columns of types.

    Attributes:
        shown: types with a column of their own.
        others: types that share the last one; none: there is no such column.
    """

    shown: tuple[str, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, found: TraceStatistics) -> TypeColumns:
        """The columns for what was measured of a trace."""
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
        """The columns' names."""
        rest = [f"{len(self.others):,} other types"] if self.others else []
        return [*map(visible, self.shown), *rest]

    def cells(self, *hours: Hour) -> list[str]:
        """Requests of some hours, by column and in all."""
        counts = _requests(hours)
        rest = [sum(counts[name] for name in self.others)] if self.others else []
        found = (*(counts[name] for name in self.shown), *rest, counts.total())
        return [f"{count:,}" for count in found]


def _requests(hours: Iterable[Hour]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for hour in hours:
        counts.update(hour.requests)
    return counts
