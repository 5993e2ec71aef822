"""The duration of each transaction type: the parts that make up throughput.

A worker runs one transaction after another. Its throughput in the workload's mix is the inverse of
the mean, over the types, of the time per commit, aborted attempts, waits and backoff included
(`Result.mixed_throughput`). That mean hides which type is slow. Of two tables with the same
throughput, one may be balanced and the other run one type much faster at another's expense.
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
    """The pace of the types, in the order of the signature.

    Attributes:
        us: a worker's time per commit, µs; 0 for a type that was not started.
        shares: shares of the types among the started transactions; they sum to 1.
    """

    us: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def mean_us(self) -> float:
        """A worker's mean time per commit, in the mix, µs."""
        return sum(share * us for share, us in zip(self.shares, self.us, strict=True))

    def as_json(self) -> list[list[float]]:
        """Return it as JSON values."""
        return [list(self.us), list(self.shares)]

    @classmethod
    def from_json(cls, state: list[Any]) -> Pace:
        """Create it from JSON values."""
        us, shares = state
        return cls(tuple(us), tuple(shares))


def pace_of(signature: Signature, results: Sequence[Result]) -> Pace | None:
    """Return the mean pace over results; times by the geometric mean, as the scenarios' scores.

    Args:
        signature: of the workload.
        results: of one table, one per scenario.

    Returns:
        None without results, or if the pace of the workers does not determine throughput, or not
        alone.
    """
    paces = [_scenario_pace(signature, result) for result in results]
    known = [pace for pace in paces if pace is not None]
    if not known or len(known) < len(paces):
        return None
    us = [
        [time for time in column if time > 0.0]
        for column in zip(*(p.us for p in known), strict=True)
    ]
    shares = zip(*(pace.shares for pace in known), strict=True)
    return Pace(
        tuple(statistics.geometric_mean(column) if column else 0.0 for column in us),
        tuple(map(statistics.fmean, shares)),
    )


def _scenario_pace(signature: Signature, result: Result) -> Pace | None:
    kinds = [result.types[name] for name in signature.type_names]
    begun = [kind.commits + kind.unfinished for kind in kinds]
    # If transactions arrive by a clock, times count from their arrival. For transactions passed to
    # other workers, the owner is unknown.
    if result.arrivals is not None or (result.schedule is not None and result.schedule.moved):
        return None
    if not any(begun) or any(
        n and kind.time_s <= 0.0 for n, kind in zip(begun, kinds, strict=True)
    ):
        return None
        # A type without a commit takes at least the time that all workers spent on it.
    us = tuple(1e6 * kind.time_s / max(1, kind.commits) for kind in kinds)
    return Pace(us, tuple(n / sum(begun) for n in begun))
