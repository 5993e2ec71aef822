"""Credit of moves: Thompson sampling over moves whose value changes during a search.

Adaptive operator selection as a bandit: each move has a Beta distribution over the probability that
its result is better than its parent. Old trials count less, since a move that helps a seed is often
of no use to a good table.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

WON, LOST = 1.0, 4.0
"""The prior of every move: one in five results is better."""


class Credit:
    """The discounted successes and failures of the moves.

    Args:
        names: of the moves.
        discount: the factor on a trial's weight after each later table, 0..1: 1 forgets nothing,
            0 makes all moves equal.
    """

    def __init__(self, names: Sequence[str], discount: float) -> None:
        self._discount = discount
        self._won = dict.fromkeys(names, 0.0)
        self._lost = dict.fromkeys(names, 0.0)

    def choose(self, random: Random, excluded: Collection[str] = ()) -> str:
        """Draw a move, more often a successful one; none of `excluded`, unless all are."""
        return max(
            self._without(excluded),
            key=lambda name: random.betavariate(WON + self._won[name], LOST + self._lost[name]),
        )

    def any(self, random: Random, excluded: Collection[str] = ()) -> str:
        """Draw a move uniformly; none of `excluded`, unless all are."""
        return random.choice(self._without(excluded))

    def tell(self, names: Sequence[str], won: bool) -> None:
        """Record whether a table made by these moves is better than its parent.

        A table made without moves, such as a model's, adds nothing, but older trials still decay.
        """
        if not self._discount:
            return
        for known in (self._won, self._lost):
            for name in known:
                known[name] *= self._discount
        for name in names:
            (self._won if won else self._lost)[name] += 1.0 / len(names)

    def _without(self, excluded: Collection[str]) -> list[str]:
        return [name for name in self._won if name not in excluded] or list(self._won)

    def state_dict(self) -> dict[str, dict[str, float]]:
        """Return the state, as JSON values."""
        return {"won": dict(self._won), "lost": dict(self._lost)}

    def load_state_dict(self, state: dict[str, dict[str, float]]) -> None:
        """Resume from a state."""
        # The state may have been written with other moves enabled.
        for known, before in ((self._won, state["won"]), (self._lost, state["lost"])):
            known.update((name, before[name]) for name in known if name in before)
