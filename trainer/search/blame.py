"""Where a table loses time: what its result says, as weights by which changes are drawn.

The engine tells how long transactions waited before each access, at which accesses attempts ended,
and how much work was thrown away. An access loses the time waited before it, and its share of the
work wasted. An attempt that failed at commit is blamed on those accesses of its type that others
conflict with, all alike: one of them had to be done otherwise. So is the wait at commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from envs import Result
from policies import Signature
from policies.conflicts import conflict_edges


@dataclass(frozen=True)
class Blame:
    """Who is to blame for time lost.

    Attributes:
        states: by state; they sum to 1.
        types: by transaction type, for attempts that ended in an abort; they sum to 1.
        longer_backoff: how likely it is that a longer backoff is what helps, 0..1: the share of
            wasted work in the time that is wasted or spent in backoff.
    """

    states: tuple[float, ...]
    types: tuple[float, ...]
    longer_backoff: float

    def as_json(self) -> list[Any]:
        """As JSON values."""
        return [list(self.states), list(self.types), self.longer_backoff]

    @classmethod
    def from_json(cls, state: list[Any]) -> Blame:
        """From JSON values."""
        states, types, longer_backoff = state
        return cls(tuple(states), tuple(types), longer_backoff)


def blame_of(signature: Signature, results: Sequence[Result], even: float) -> Blame:
    """What results blame, each as much as the others; all alike where there are none.

    Args:
        signature: of the workload.
        results: of the table, one for each scenario.
        even: share of the blame that is spread evenly, 0..1: no access is ever beyond suspicion.
    """
    if not results or even == 1.0:
        return Blame(
            _shares([0.0] * signature.state_count, 1.0),
            _shares([0.0] * len(signature.types), 1.0),
            0.5,
        )
    found = [_blame_of_one(signature, result, even) for result in results]
    return Blame(
        states=_means([one.states for one in found]),
        types=_means([one.types for one in found]),
        longer_backoff=sum(one.longer_backoff for one in found) / len(found),
    )


def _blame_of_one(signature: Signature, result: Result, even: float) -> Blame:
    wasted, backoff = (result.time_s.get(name, 0.0) for name in ("wasted", "backoff"))
    aborts = [result.types[name].aborts for name in signature.type_names]
    lost = wasted + backoff
    return Blame(
        states=_shares(_lost_by_state(signature, result, wasted), even),
        types=_shares(aborts, even),
        longer_backoff=wasted / lost if lost > 0.0 else 0.5,
    )


def _lost_by_state(signature: Signature, result: Result, wasted: float) -> list[float]:
    """Seconds lost, by state."""
    aborts, waits = result.aborts_by_state, result.waiting_by_state_s
    of_abort = wasted / max(1, sum(aborts))
    states = range(signature.state_count)
    lost = [waits[state] + of_abort * aborts[state] for state in states]
    at_commit = sum(waits[signature.state_count :]) / len(signature.types)
    contended = {state for edge in conflict_edges(signature) for state in edge}
    for kind in signature.types:
        failed_at_commit = result.types[kind.name].aborts - sum(aborts[s] for s in kind.states)
        suspects = [state for state in kind.states if state in contended] or list(kind.states)
        for state in suspects:
            lost[state] += (of_abort * max(0, failed_at_commit) + at_commit) / len(suspects)
    return lost


def _means(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))


def _shares(parts: Sequence[float], even: float) -> tuple[float, ...]:
    """Parts of 1, so much of it spread evenly; all of it where there is nothing."""
    whole, least = sum(parts), 1.0 / len(parts)
    if whole <= 0.0:
        return (least,) * len(parts)
    return tuple((1.0 - even) * part / whole + even * least for part in parts)
