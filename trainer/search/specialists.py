"""Tables that are quick at one type of transaction, at the expense of others: steps on the way.

Some of what makes a table good comes in two parts of which either alone is worth little. In TPC-C
an early validation after NewOrder's last access makes NewOrder thirty times as quick, and Delivery
starves, for its scans are always overtaken: in a short run that is far worse than nothing. Once
Delivery's removals are public as well, throughput is more than twice that without either, and by
themselves these do nothing. From good tables alone both steps have to be made at once.

What the first step has gained is seen in its pace (`trainer.search.pace`). So of every type the
tables are kept that are quickest at it. What such a *specialist* promises is what the best table
would gain if it did that type as quickly; as often as that is much, children descend from
specialists instead of elites, by moves that strike where the specialist is slower than the best.
What it promises may have been luck, for it is known by its last run; then its children are not
better, and it has cost these.

(The idea that who is best at one thing is worth keeping is that of lexicase selection: Helmuth,
Spector and Matheson, *Solving uncompromising problems with lexicase selection*, IEEE TEVC 19(5),
2015.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.search.base import Candidate
from trainer.search.blame import Blame
from trainer.search.elite import Elite
from trainer.search.layout import Layout

KEPT = 3
"""Specialists of a type; of those that publish after the same accesses, and are scheduled alike,
only one."""

HOPELESS = 0.1
"""With less than this share of the best fitness it is nobody's."""


@dataclass(frozen=True)
class Promise:
    """What the best table would gain by being as quick as a specialist at its type.

    Attributes:
        elite: the specialist.
        gain: the share of the best table's time that would be saved, 0..1.
    """

    elite: Elite
    gain: float


class Specialists:
    """See the module.

    Args:
        types: how many there are.
        kind: of a table; of those of one kind only the quickest is kept.
    """

    def __init__(self, types: int, kind: Callable[[Candidate], Hashable]) -> None:
        self._kind = kind
        # Of a single type the quickest table is the best.
        self._of_type: list[list[Elite]] = [[] for _ in range(types if types > 1 else 0)]

    def tell(self, measured: Sequence[Elite], best: Elite) -> None:
        """Tables that were measured, anew or for the first time, and the best of all."""
        told = {one.candidate.key for one in measured}
        for number, known in enumerate(self._of_type):
            found = [one for one in known if one.candidate.key not in told]
            found = [one for one in [*found, *measured] if _serves(one, number, best)]
            unlike: dict[Hashable, Elite] = {}
            for one in sorted(found, key=lambda one: _us(one, number)):
                unlike.setdefault(self._kind(one.candidate), one)
            self._of_type[number] = list(unlike.values())[:KEPT]

    def promises(self, best: Elite) -> list[Promise]:
        """What they promise beside the best table; who promises nothing is left out."""
        if best.pace is None:
            return []
        found = []
        for number, known in enumerate(self._of_type):
            share, us = best.pace.shares[number], best.pace.us[number]
            gains = [share * (us - _us(one, number)) / best.pace.mean_us for one in known]
            found += [Promise(*pair) for pair in zip(known, gains, strict=True) if pair[1] > 0.0]
        return found

    def state_dict(self) -> list[list[Any]]:
        """As JSON values."""
        return [[one.as_json() for one in known] for known in self._of_type]

    def load_state_dict(self, state: list[list[Any]]) -> None:
        """Resume from a state."""
        self._of_type = [[Elite.from_json(one) for one in known] for known in state]


def blame_of_others(layout: Layout, one: Elite, best: Elite, even: float) -> Blame:
    """Where a specialist is slower than the best table is: there it has to be mended.

    Args:
        layout: of the tables.
        one: the specialist.
        best: the best table.
        even: share of the blame that is spread evenly.
    """
    if one.pace is None or best.pace is None:
        return one.blame
    slower = [
        share * max(0.0, us - of_best)
        for share, us, of_best in zip(best.pace.shares, one.pace.us, best.pace.us, strict=True)
    ]
    whole, least = sum(slower), 1.0 / len(slower)
    if whole == 0.0:
        return one.blame
    types = tuple((1.0 - even) * part / whole + even * least for part in slower)
    states = [0.0] * len(one.blame.states)
    for kind, part in zip(layout.signature.types, types, strict=True):
        # Within a type as its own result has it; evenly, where none of its accesses lost time.
        of_type = sum(one.blame.states[state] for state in kind.states)
        for state in kind.states:
            share = one.blame.states[state] / of_type if of_type else 1.0 / len(kind.states)
            states[state] = part * share
    return Blame(tuple(states), types, one.blame.longer_backoff)


def _serves(one: Elite, number: int, best: Elite) -> bool:
    known = one.pace is not None and one.pace.shares[number] > 0.0
    return known and one.fitness > max(0.0, HOPELESS * best.fitness)


def _us(one: Elite, number: int) -> float:
    assert one.pace is not None  # or it does not serve
    return one.pace.us[number]
