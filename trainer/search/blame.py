"""The time that a table loses, by access and type: weights for choosing what to change.

The engine reports how long transactions waited before each access, at which accesses attempts
aborted, and how much work was wasted. An access is assigned the waiting before it and its share of
the wasted work. An attempt that fails at commit is assigned to those accesses of its type that
conflict with other types, in equal parts, since any of them may be the cause. So is the waiting at
commit.
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
    """Shares of the lost time.

    Attributes:
        states: by state; they sum to 1.
        types: by transaction type, for aborted attempts; they sum to 1.
        longer_backoff: the probability that a longer backoff helps, 0..1: the wasted work as a
            share of wasted work and backoff.
    """

    states: tuple[float, ...]
    types: tuple[float, ...]
    longer_backoff: float

    def as_json(self) -> list[Any]:
        """Return it as JSON values."""
        return [list(self.states), list(self.types), self.longer_backoff]

    @classmethod
    def from_json(cls, state: list[Any]) -> Blame:
        """Create it from JSON values."""
        states, types, longer_backoff = state
        return cls(tuple(states), tuple(types), longer_backoff)


def blame_of(signature: Signature, results: Sequence[Result], even: float) -> Blame:
    """Return the mean blame over results, with equal weights; uniform without results.

    Args:
        signature: of the workload.
        results: of the table, one per scenario.
        even: share of the blame that is spread evenly, 0..1, so that every access has some.
    """
    if not results or even == 1.0:
        return Blame(
            _shares([0.0] * signature.state_count, 1.0),
            _shares([0.0] * len(signature.types), 1.0),
            0.5,
        )
    found = [_scenario_blame(signature, result, even) for result in results]
    return Blame(
        states=_means([blame.states for blame in found]),
        types=_means([blame.types for blame in found]),
        longer_backoff=sum(blame.longer_backoff for blame in found) / len(found),
    )


def _scenario_blame(signature: Signature, result: Result, even: float) -> Blame:
    wasted, backoff = (result.time_s.get(name, 0.0) for name in ("wasted", "backoff"))
    aborts = [result.types[name].aborts for name in signature.type_names]
    lost = wasted + backoff
    return Blame(
        states=_shares(_lost_by_state(signature, result, wasted), even),
        types=_shares(aborts, even),
        longer_backoff=wasted / lost if lost > 0.0 else 0.5,
    )


def _lost_by_state(signature: Signature, result: Result, wasted: float) -> list[float]:
    """Return the seconds lost, by state."""
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
    """Normalise parts to 1, the share `even` of it uniform; all of it if the parts are 0."""
    whole, least = sum(parts), 1.0 / len(parts)
    if whole <= 0.0:
        return (least,) * len(parts)
    return tuple((1.0 - even) * part / whole + even * least for part in parts)
