"""Whether a run committed the mix of transaction types that its workload has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from envs.type_result import TypeResult

SHORT = 0.5
"""A type with less than this part of the commits that the mix gives it is short of them …"""
DEVIATIONS = 3.0
"""… if that is more than this number of standard deviations of a count, and so no accident …"""
HELD_UP = 0.5
"""… and its transactions took one worker this part of the window: they were held up, and not just
rare in the part of a trace that the window has come to."""


@dataclass(frozen=True)
class Shortfall:
    """A type of which a run has fewer commits than the workload's mix.

    Attributes:
        type_name: which.
        commits: of the type.
        expected: commits that the type has in the mix, among as many commits of all types.
    """

    type_name: str
    commits: int
    expected: float

    def __str__(self) -> str:
        """Such as `/settle 1 of 653`."""
        due = max(1, round(self.expected))
        return f"{self.type_name} {self.commits or 'none'} of {due:,}"


def type_shares(types: Mapping[str, TypeResult]) -> dict[str, float]:
    """The mix of a run's workload: each type's part of all transactions.

    The workload's own where it knows it. Elsewhere draws are independent, and a worker retries
    what it drew until that commits, so what was drawn is an unbiased sample however slow a type is.

    Returns:
        By type; they sum to 1, or all are 0 where nothing was drawn.
    """
    if all(one.share is not None for one in types.values()):
        return {name: one.share or 0.0 for name, one in types.items()}
    begun = sum(one.begun for one in types.values())
    return {name: one.begun / begun if begun else 0.0 for name, one in types.items()}


def shortfalls(types: Mapping[str, TypeResult], seconds: float) -> list[Shortfall]:
    """The types that a run left out: it began them, and committed far fewer than their share.

    Args:
        types: what each did, in one run or added up over several.
        seconds: of the windows, added up too.

    Returns:
        The one that lacks the most first; empty where the mix was kept.
    """
    committed = sum(one.commits for one in types.values())
    found = []
    for name, share in type_shares(types).items():
        one = types[name]
        expected = share * committed
        never = one.commits == 0 and one.unfinished > 0
        lacks = expected - one.commits
        short = one.commits < SHORT * expected and lacks > DEVIATIONS * math.sqrt(expected)
        if never or (short and one.time_s >= HELD_UP * seconds):
            found.append(Shortfall(name, one.commits, expected))
    return sorted(found, key=lambda one: one.commits - one.expected)


def summed_counts(runs: list[Mapping[str, TypeResult]]) -> dict[str, TypeResult]:
    """The counts of several runs of one policy by type; their latencies and rates are left out."""
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
