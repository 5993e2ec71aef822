"""The conflict rate by its definition: all pairs of requests are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from traces.schema import WRITE_KINDS

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US


@dataclass(frozen=True)
class Request:
    begin: int  # µs since midnight
    session: int
    user: int | None
    kind: str = "cart"
    # (table, key, kind); None: unknown
    accesses: list[tuple[str, int, str]] | None = field(default_factory=list)

    @property
    def identity(self) -> tuple[str, int]:
        return ("session", self.session) if self.user is None else ("user", self.user)


def in_conflict(one: Request, other: Request) -> bool:
    """Whether the users differ, and both access a row that one of them writes."""
    if one.identity == other.identity:
        return False
    return any(
        (table, key) == (other_table, other_key)
        and (kind in WRITE_KINDS or other_kind in WRITE_KINDS)
        for table, key, kind in one.accesses or []
        for other_table, other_key, other_kind in other.accesses or []
    )


def conflict_rate(requests: Sequence[Request], hour: int, window_minutes: int) -> float | None:
    """Return the mean of an hour's window rates; None if no accesses are known."""
    known = [r for r in requests if r.accesses is not None and r.begin // HOUR_US == hour]
    if not known:
        return None
    rates = []
    for window in range(60 // window_minutes):
        begin = hour * HOUR_US + window * window_minutes * MINUTE_US
        inside = [r for r in known if begin <= r.begin < begin + window_minutes * MINUTE_US]
        conflicting = set()
        for (a, one), (b, other) in combinations(enumerate(inside), 2):
            if in_conflict(one, other):
                conflicting |= {a, b}
        rates.append(len(conflicting) / len(inside) if inside else 0.0)
    return sum(rates) / len(rates)
