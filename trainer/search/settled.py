"""Removes parameters of schedule and protocol without effect from the tables of a search.

A scheduled table has cells that may have no effect: the window of a `fifo` schedule, or the
deferral probability of an `smf` schedule. The policy's file omits them. Tables that differ only in
such cells are one policy, so they are measured and stored once. The same holds for the rows of a
policy under another protocol than the table's, and for the options that the protocol does not use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from policies import Encoding
from trainer.search.base import Candidate, Measured, Search


class Settled:
    """A search whose tables are equal to those read back from a policy file.

    Args:
        search: proposes tables; `tell` passes them to it as it proposed them.
        encoding: of the tables.
    """

    def __init__(self, search: Search, encoding: Encoding) -> None:
        self._search = search
        self._encoding = encoding
        self._proposed: dict[str, list[Candidate]] = {}

    @property
    def batch(self) -> int:
        """The search's batch."""
        return self._search.batch

    @property
    def parents(self) -> Sequence[Candidate]:
        """The search's parents."""
        return [self._settled(candidate) for candidate in self._search.parents]

    def ask(self, n: int) -> list[Candidate]:
        """Return the search's proposals, each policy once."""
        self._proposed = {}
        found = []
        for candidate in self._search.ask(n):
            settled = self._settled(candidate)
            if settled.key not in self._proposed:
                found.append(settled)
            self._proposed.setdefault(settled.key, []).append(candidate)
        return found

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Pass the measurements on, for each of the tables that the search proposed."""
        pairs = [
            (proposed, result)
            for candidate, result in zip(candidates, results, strict=True)
            for proposed in self._proposed[candidate.key]
        ]
        self._search.tell([proposed for proposed, _ in pairs], [result for _, result in pairs])

    def state_dict(self) -> dict[str, Any]:
        """Return the search's state: nothing else is kept between generations."""
        return self._search.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        self._search.load_state_dict(state)

    def _settled(self, candidate: Candidate) -> Candidate:
        return Candidate(self._encoding.canonical(candidate.vector), candidate.origin)
