"""Specialists: tables that run one transaction type fast at the expense of others.

Some gains need two changes, each of which alone is worth little. In TPC-C an early validation after
NewOrder's last access makes NewOrder thirty times as fast, and Delivery starves, because its scans
are always overtaken: in a short run that is far worse than no change. Once Delivery's removals are
public as well, throughput is more than twice that without both changes, while these alone have no
effect. From good tables, a search would have to make both changes at once.

The pace (`trainer.search.pace`) shows the gain of the first change. So for every type the tables
that are fastest at it are kept. The promise of such a *specialist* is the gain of the best table if
it ran that type as fast. In proportion to the promise, children descend from specialists instead of
elites, by moves that apply where the specialist is slower than the best table. A promise rests on
one run and may be noise; then its children are not better, which costs only these children.

(Keeping the best at each single objective is the idea of lexicase selection: Helmuth, Spector and
Matheson, *Solving uncompromising problems with lexicase selection*, IEEE TEVC 19(5), 2015.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from trainer.search.base import Candidate
from trainer.search.blame import Blame
from trainer.search.elite import Elite
from trainer.search.layout import Layout

KEPT = 3
"""Specialists per type; of those with the same publication points and schedule only one is kept."""

HOPELESS = 0.1
"""Tables below this share of the best fitness are no specialists, limits aside."""


@dataclass(frozen=True)
class Promise:
    """The gain of the best table if it were as fast as a specialist at its type.

    Attributes:
        elite: the specialist.
        gain: the share of the best table's time that would be saved, 0..1.
    """

    elite: Elite
    gain: float


class Specialists:
    """The specialists of all types (see the module).

    Args:
        types: the number of types.
        kind: returns the kind of a table; of each kind only the fastest table is kept.
    """

    def __init__(self, types: int, kind: Callable[[Candidate], Hashable]) -> None:
        self._kind = kind
        # With a single type the fastest table is the best.
        self._of_type: list[list[Elite]] = [[] for _ in range(types if types > 1 else 0)]

    def tell(self, measured: Sequence[Elite], best: Elite) -> None:
        """Add measured tables, new or measured again, and the best table of all."""
        again = {elite.candidate.key for elite in measured}
        for number, known in enumerate(self._of_type):
            found = [elite for elite in known if elite.candidate.key not in again]
            found = [elite for elite in [*found, *measured] if _serves(elite, number, best)]
            unlike: dict[Hashable, Elite] = {}
            for elite in sorted(found, key=partial(_us, number=number)):
                unlike.setdefault(self._kind(elite.candidate), elite)
            self._of_type[number] = list(unlike.values())[:KEPT]

    def promises(self, best: Elite) -> list[Promise]:
        """Return the promises relative to the best table, without those of no gain."""
        if best.pace is None:
            return []
        found = []
        for number, known in enumerate(self._of_type):
            share, us = best.pace.shares[number], best.pace.us[number]
            gains = [share * (us - _us(elite, number)) / best.pace.mean_us for elite in known]
            found += [Promise(*pair) for pair in zip(known, gains, strict=True) if pair[1] > 0.0]
        return found

    def state_dict(self) -> list[list[Any]]:
        """Return the state, as JSON values."""
        return [[elite.as_json() for elite in known] for known in self._of_type]

    def load_state_dict(self, state: list[list[Any]]) -> None:
        """Resume from a state."""
        self._of_type = [[Elite.from_json(elite) for elite in known] for known in state]


def blame_of_others(layout: Layout, specialist: Elite, best: Elite, even: float) -> Blame:
    """Return the blame of a specialist: where it is slower than the best table.

    Args:
        layout: of the tables.
        specialist: the specialist.
        best: the best table.
        even: share of the blame that is spread evenly.
    """
    if specialist.pace is None or best.pace is None:
        return specialist.blame
    slower = [
        share * max(0.0, us - of_best)
        for share, us, of_best in zip(
            best.pace.shares, specialist.pace.us, best.pace.us, strict=True
        )
    ]
    whole, least = sum(slower), 1.0 / len(slower)
    if whole == 0.0:
        return specialist.blame
    types = tuple((1.0 - even) * part / whole + even * least for part in slower)
    states = [0.0] * len(specialist.blame.states)
    for kind, part in zip(layout.signature.types, types, strict=True):
        # Within a type by its own result; uniform if none of its accesses lost time.
        of_type = sum(specialist.blame.states[state] for state in kind.states)
        for state in kind.states:
            share = specialist.blame.states[state] / of_type if of_type else 1.0 / len(kind.states)
            states[state] = part * share
    return Blame(tuple(states), types, specialist.blame.longer_backoff)


def _serves(specialist: Elite, number: int, best: Elite) -> bool:
    known = specialist.pace is not None and specialist.pace.shares[number] > 0.0
    return known and specialist.merit > max(0.0, HOPELESS * best.merit)


def _us(specialist: Elite, number: int) -> float:
    assert specialist.pace is not None  # `_serves` has checked it
    return specialist.pace.us[number]
