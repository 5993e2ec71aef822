"""The tables that a search may propose: those that its action groups leave (paper §7.2)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from random import Random

from policies import ACTION_GROUPS, Encoding


class Space:
    """Which values each cell may take. What an action group owns and is not named stays OCC's.

    Args:
        encoding: the workload's tables.
        actions: names of action groups, see `policies.ACTION_GROUPS`.

    Raises:
        ValueError: a name is not an action group, or there is none; the message lists them.
    """

    def __init__(self, encoding: Encoding, actions: Collection[str]) -> None:
        if not actions:
            raise ValueError(f"search.actions=[]: must name some of {', '.join(ACTION_GROUPS)}")
        try:
            self._values = encoding.allowed(actions)
        except ValueError as error:
            raise ValueError(f"search.actions=[{','.join(actions)}]: {error}") from error
        self._encoding = encoding
        self._known = [frozenset(values) for values in self._values]
        self._open = tuple(i for i, values in enumerate(self._values) if len(values) > 1)

    @property
    def encoding(self) -> Encoding:
        """Of the tables."""
        return self._encoding

    @property
    def values(self) -> tuple[tuple[int, ...], ...]:
        """For each cell the values that it may take, ascending; one where there is no choice."""
        return self._values

    @property
    def open(self) -> tuple[int, ...]:
        """The positions of the cells that have a choice."""
        return self._open

    @property
    def size(self) -> int:
        """How many tables there are."""
        return math.prod(len(values) for values in self._values)

    def fit(self, vector: Sequence[int]) -> tuple[int, ...]:
        """The table with OCC's value in every cell whose own is not allowed."""
        return tuple(
            value if value in known else cell.default
            for value, known, cell in zip(vector, self._known, self._encoding.cells, strict=True)
        )

    def draw(self, random: Random) -> tuple[int, ...]:
        """A table drawn uniformly."""
        return tuple(random.choice(values) for values in self._values)

    def redraw(self, vector: Sequence[int], cells: Collection[int], random: Random) -> list[int]:
        """The table with these cells drawn anew, each uniformly from its other values."""
        changed = list(vector)
        for cell in cells:
            others = [value for value in self._values[cell] if value != changed[cell]]
            changed[cell] = random.choice(others)
        return changed

    def moves(self, vector: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Every (cell, other value of it): each leads to a table that differs in this cell."""
        for cell in self._open:
            for value in self._values[cell]:
                if value != vector[cell]:
                    yield cell, value
