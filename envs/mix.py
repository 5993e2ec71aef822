"""Check whether a run commits the workload's mix of transaction types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from envs.type_result import TypeResult

SHORT = 0.5
"""A type is left out if it has less than this share of its expected commits, and also fulfils the
two conditions below."""
DEVIATIONS = 3.0
"""The missing commits exceed this many standard deviations of the expected count."""
HELD_UP = 0.5
"""Its transactions used at least this share of one worker's time. Otherwise the type may just be
rare in this part of a trace."""

OVERDUE = 0.5
"""An unfinished transaction older than this share of the window is overdue: nothing shows that its
age has a bound."""


@dataclass(frozen=True)
class Shortfall:
    """A transaction type with fewer commits than its share of the workload's mix.

    Attributes:
        type_name: name of the type.
        commits: commits of the type.
        expected: the type's share of the mix times the commits of all types.
    """

    type_name: str
    commits: int
    expected: float

    def __str__(self) -> str:
        """Return text such as `/settle 1 of 653`."""
        due = max(1, round(self.expected))
        return f"{self.type_name} {self.commits or 'none'} of {due:,}"


@dataclass(frozen=True)
class Overdue:
    """A transaction type of which a transaction has taken most of a window, and has not committed.

    Attributes:
        type_name: name of the type.
        age_us: age of the oldest unfinished transaction at the end of a run, in µs.
        window_us: length of the window in µs.
    """

    type_name: str
    age_us: float
    window_us: float

    def __str__(self) -> str:
        """Return text such as `/settle 48.2 of 50 ms`."""
        return f"{self.type_name} {self.age_us / 1000:.3g} of {self.window_us / 1000:.3g} ms"


def type_shares(types: Mapping[str, TypeResult]) -> dict[str, float]:
    """Return the mix of a run's workload: the share of each type in all transactions.

    The shares are the workload's if it declares them. Otherwise draws are independent and a worker
    retries a transaction until it commits. The transactions drawn are then an unbiased sample,
    however slow a type is.

    Returns:
        The share of each type. Shares sum to 1, or are all 0 if nothing was drawn.
    """
    if all(result.share is not None for result in types.values()):
        return {name: result.share or 0.0 for name, result in types.items()}
    begun = sum(result.begun for result in types.values())
    return {name: result.begun / begun if begun else 0.0 for name, result in types.items()}


def shortfalls(types: Mapping[str, TypeResult], seconds: float) -> list[Shortfall]:
    """Return the types that a run began but committed far less often than their share.

    Args:
        types: counts by type, of one run or summed over several.
        seconds: total length of the windows in seconds.

    Returns:
        The types left out, the one with the most missing commits first. Empty if the run kept the
        mix.
    """
    committed = sum(result.commits for result in types.values())
    found = []
    for name, share in type_shares(types).items():
        result = types[name]
        expected = share * committed
        never = result.commits == 0 and result.unfinished > 0
        lacks = expected - result.commits
        short = result.commits < SHORT * expected and lacks > DEVIATIONS * math.sqrt(expected)
        if never or (short and result.time_s >= HELD_UP * seconds):
            found.append(Shortfall(name, result.commits, expected))
    return sorted(found, key=lambda shortfall: shortfall.commits - shortfall.expected)


def overdue(types: Mapping[str, TypeResult], seconds: float) -> list[Overdue]:
    """Return the types whose oldest unfinished transaction is overdue at the end of a run.

    A type may keep its mix all the same, if its other transactions are quick. In a run whose mix is
    not kept the transactions may also be of a type left out.

    Args:
        types: results by type of one run.
        seconds: length of its window in seconds.

    Returns:
        The overdue types, the one with the oldest transaction first.
    """
    window_us = seconds * 1e6
    found = [
        Overdue(name, result.oldest_us, window_us)
        for name, result in types.items()
        if result.oldest_us is not None and result.oldest_us > OVERDUE * window_us
    ]
    return sorted(found, key=lambda one: -one.age_us)


def summed_counts(runs: list[Mapping[str, TypeResult]]) -> dict[str, TypeResult]:
    """Return the counts of several runs, summed by type, without latencies and rates."""
    names = list(runs[0]) if runs else []
    return {
        name: TypeResult(
            commits=sum(types[name].commits for types in runs),
            rollbacks=sum(types[name].rollbacks for types in runs),
            aborts=sum(types[name].aborts for types in runs),
            unfinished=sum(types[name].unfinished for types in runs),
            time_s=sum(types[name].time_s for types in runs),
            latency_us=None,
            share=runs[0][name].share,
        )
        for name in names
    }
