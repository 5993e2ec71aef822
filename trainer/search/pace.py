"""How long each type of transaction takes: the parts that throughput is made of.

A worker goes from one transaction to the next, so what it commits in the workload's mix is one over
the mean, over the types, of the time that a commit of the type takes it in all: attempts that were
aborted, waits and backoff included (`Result.mixed_throughput`). That sum hides who is slow. Of two
tables with the same throughput one may be even, and the other do one type in no time at another's
expense.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from envs import Result
from policies import Signature


@dataclass(frozen=True)
class Pace:
    """What the types of the signature take, in its order.

    Attributes:
        us: of a worker's time for a commit, µs. Of a type that was not begun, 0.
        shares: of the transactions of these types that were begun; they sum to 1.
    """

    us: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def mean_us(self) -> float:
        """Of a worker's time for a commit, in the mix."""
        return sum(share * us for share, us in zip(self.shares, self.us, strict=True))

    def as_json(self) -> list[list[float]]:
        """As JSON values."""
        return [list(self.us), list(self.shares)]

    @classmethod
    def from_json(cls, state: list[Any]) -> Pace:
        """From JSON values."""
        us, shares = state
        return cls(tuple(us), tuple(shares))


def pace_of(signature: Signature, results: Sequence[Result]) -> Pace | None:
    """The means over results: of the times the geometric one, as of the scenarios' scores.

    Args:
        signature: of the workload.
        results: of one table, one for each scenario.

    Returns:
        None where there is none: without results, and where what commits is not up to the pace of
        the workers, or not theirs alone.
    """
    paces = [_pace_of_one(signature, result) for result in results]
    known = [pace for pace in paces if pace is not None]
    if not known or len(known) < len(paces):
        return None
    us = [
        [one for one in column if one > 0.0] for column in zip(*(p.us for p in known), strict=True)
    ]
    shares = zip(*(pace.shares for pace in known), strict=True)
    return Pace(
        tuple(statistics.geometric_mean(column) if column else 0.0 for column in us),
        tuple(map(statistics.fmean, shares)),
    )


def _pace_of_one(signature: Signature, result: Result) -> Pace | None:
    kinds = [result.types[name] for name in signature.type_names]
    begun = [kind.commits + kind.unfinished for kind in kinds]
    # Where transactions arrive by a clock, times count from then; and of those that were left with
    # other workers it is not known whose they are.
    if result.arrivals is not None or (result.schedule is not None and result.schedule.moved):
        return None
    if not any(begun) or any(
        n and kind.time_s <= 0.0 for n, kind in zip(begun, kinds, strict=True)
    ):
        return None
    # Where none was committed it takes at least as long as all have been at it.
    us = tuple(1e6 * kind.time_s / max(1, kind.commits) for kind in kinds)
    return Pace(us, tuple(n / sum(begun) for n in begun))
