"""Schedules without what their policy does not go by, whatever a search proposes.

A scheduled table has cells that may have no effect: the window of a schedule that is `fifo`, or the
probability of deferring of one that is `smf`. They are no part of the policy's file. Tables that
differ in them alone are one policy, and are to be measured, and remembered, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from policies import Encoding
from trainer.search.base import Candidate, Measured, Search


class Settled:
    """A search whose tables are as they come back from a policy's file.

    Args:
        search: proposes; it is told of the tables as it proposed them.
        encoding: of the tables.
    """

    def __init__(self, search: Search, encoding: Encoding) -> None:
        self._search = search
        self._encoding = encoding
        self._proposed: dict[str, list[Candidate]] = {}

    @property
    def batch(self) -> int:
        """That of the search."""
        return self._search.batch

    @property
    def parents(self) -> Sequence[Candidate]:
        """Those of the search."""
        return [self._settled(candidate) for candidate in self._search.parents]

    def ask(self, n: int) -> list[Candidate]:
        """What the search proposes, each policy once."""
        self._proposed = {}
        found = []
        for candidate in self._search.ask(n):
            one = self._settled(candidate)
            if one.key not in self._proposed:
                found.append(one)
            self._proposed.setdefault(one.key, []).append(candidate)
        return found

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Pass on what those candidates reached, to each of the tables that was proposed."""
        told = [
            (proposed, result)
            for one, result in zip(candidates, results, strict=True)
            for proposed in self._proposed[one.key]
        ]
        self._search.tell([proposed for proposed, _ in told], [result for _, result in told])

    def state_dict(self) -> dict[str, Any]:
        """That of the search: nothing is kept from one generation to the next."""
        return self._search.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        self._search.load_state_dict(state)

    def _settled(self, candidate: Candidate) -> Candidate:
        return Candidate(self._encoding.canonical(candidate.vector), candidate.origin)
