"""Which moves pay: Thompson sampling over moves whose worth changes during a search.

Adaptive operator selection as a bandit: each move has a Beta distribution over the chance that what
it makes is better than what it was made from. What was seen long ago counts less, since a move
that helps a seed is often of no use to a good table.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

WON, LOST = 1.0, 4.0
"""What is taken to have been seen of every move beforehand: one in five makes something better."""


class Credit:
    """The moves' successes and failures, discounted.

    Args:
        names: of the moves.
        discount: what a trial counts for after another table was told of, 0..1: 1 forgets nothing,
            and with 0 all moves are alike.
    """

    def __init__(self, names: Sequence[str], discount: float) -> None:
        self._discount = discount
        self._won = dict.fromkeys(names, 0.0)
        self._lost = dict.fromkeys(names, 0.0)

    def choose(self, random: Random, but: str | None = None) -> str:
        """A move, more often one that pays; not the one named, if there is another."""
        return max(
            self._but(but),
            key=lambda name: random.betavariate(WON + self._won[name], LOST + self._lost[name]),
        )

    def any(self, random: Random, but: str | None = None) -> str:
        """A move, each as often as any other."""
        return random.choice(self._but(but))

    def tell(self, names: Sequence[str], won: bool) -> None:
        """Whether a table that these moves made is better than what it was made from.

        Of one that no move made, such as a model's, nothing is learned; it makes forget like any.
        """
        if not self._discount:
            return
        for known in (self._won, self._lost):
            for name in known:
                known[name] *= self._discount
        for name in names:
            (self._won if won else self._lost)[name] += 1.0 / len(names)

    def _but(self, barred: str | None) -> list[str]:
        return [name for name in self._won if name != barred] or list(self._won)

    def state_dict(self) -> dict[str, dict[str, float]]:
        """As JSON values."""
        return {"won": dict(self._won), "lost": dict(self._lost)}

    def load_state_dict(self, state: dict[str, dict[str, float]]) -> None:
        """Resume from a state."""
        # Moves may have been left out, or let in again, since it was written.
        for known, before in ((self._won, state["won"]), (self._lost, state["lost"])):
            known.update((name, before[name]) for name in known if name in before)
