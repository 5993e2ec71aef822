"""To what time the backoff of each table adapts, so that further runs begin there.

A worker's backoff for a transaction type begins at the table's initial value and changes with each
of the worker's attempts (Polyjuice §4.5). A rare type takes most of a short run to settle: Delivery
of TPC-C some 40 ms on 48 cores. Without a memory a search would choose tables by how they begin,
not by how they go on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from envs import Result
from policies import INITIAL_US
from trainer.search.base import Candidate
from trainer.search.space import Space

ROWS_MAX = 4096
"""The number of backoff rows that are remembered; the oldest are forgotten."""

Row = tuple[int, ...]
"""Position of the type, then the values of its backoff cells."""


class AdaptedBackoff:
    """The time to which each backoff row has adapted, by type.

    A row is remembered by its own cells, whatever the rest of the table: a child that inherits it
    begins where its parent's run ended. Only cells that the search may change are changed.

    Args:
        space: of the tables.
    """

    def __init__(self, space: Space) -> None:
        encoding = space.encoding
        self._names = encoding.signature.type_names
        self._begin, self._width = encoding.cc_cells.stop, encoding.backoff_width
        self._choices = [space.values[self._initial(number)] for number in range(len(self._names))]
        self._known: dict[Row, float] = {}

    def note(self, candidate: Candidate, results: Sequence[Result]) -> None:
        """Remember how the rows of a candidate have adapted.

        Args:
            candidate: a candidate.
            results: its last run in each scenario; their geometric mean is remembered.
        """
        for number, name in enumerate(self._names):
            found = [result.types[name].backoff_us for result in results if name in result.types]
            logarithms = [math.log(us) for us in found if us]
            if logarithms:
                row = self._row(candidate.vector, number)
                self._known.pop(row, None)
                self._known[row] = math.exp(math.fsum(logarithms) / len(logarithms))
        while len(self._known) > ROWS_MAX:
            del self._known[next(iter(self._known))]

    def adapted(self, candidate: Candidate) -> Candidate:
        """Return the candidate with the initial values that are nearest to the adapted ones."""
        vector = list(candidate.vector)
        for number, choices in enumerate(self._choices):
            known = self._known.get(self._row(candidate.vector, number))
            if known is not None and len(choices) > 1:
                vector[self._initial(number)] = min(
                    choices, key=lambda choice: abs(math.log(INITIAL_US[choice] / known))
                )
        return Candidate(tuple(vector), candidate.origin)

    def state_dict(self) -> list[list[Any]]:
        """Return the state, as JSON values."""
        return [[list(row), us] for row, us in self._known.items()]

    def load_state_dict(self, state: list[list[Any]]) -> None:
        """Resume from a state."""
        self._known = {tuple(row): us for row, us in state}

    def _initial(self, number: int) -> int:
        """Return the position of a type's initial value."""
        return self._begin + number * self._width

    def _row(self, vector: Sequence[int], number: int) -> Row:
        begin = self._initial(number)
        return (number, *vector[begin : begin + self._width])
