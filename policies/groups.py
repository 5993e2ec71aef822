"""Groups of transaction types, each with its own concurrency control, as Tebaldi has them.

Su et al., SIGMOD 2017. Within a group, the pieces of transactions are pipelined (IC3's waits). A
transaction waits for one of another group until that has committed. Types belong together if they
visit their tables in the same order: then the pieces of `policies.conflicts` stay short.
"""

from __future__ import annotations

from itertools import combinations

from policies.conflicts import ConflictAnalysis, Edge, conflict_edges
from policies.signature import Signature

Groups = tuple[frozenset[str], ...]
"""Names of types by group; each type is in one group."""


def propose_groups(signature: Signature) -> Groups:
    """Return the groups that the conflict graph suggests.

    Each type begins alone. The two groups with the most conflicts between them are joined, as long
    as no piece of either becomes longer.
    """
    graph = _Graph(signature)
    groups: list[frozenset[str]] = [frozenset([name]) for name in signature.type_names]
    while pairs := [
        (graph.conflicts(one, other), one, other)
        for one, other in combinations(groups, 2)
        if graph.conflicts(one, other)
        and graph.pieces(one | other) == graph.pieces(one) + graph.pieces(other)
    ]:
        _, one, other = max(pairs, key=lambda pair: pair[0])
        groups[groups.index(one)] = one | other
        groups.remove(other)
    return tuple(groups)


def edges_between_groups(signature: Signature, groups: Groups) -> frozenset[Edge]:
    """Return the edges of the conflict graph that join types of different groups."""
    number = {name: index for index, group in enumerate(groups) for name in group}
    return frozenset(
        edge
        for edge, types in _edges(signature).items()
        if len({number[name] for name in types}) > 1
    )


def _edges(signature: Signature) -> dict[Edge, frozenset[str]]:
    """Return the edges of the conflict graph, each with the types at its ends: one or two."""
    return {
        edge: frozenset(signature.type_of(state).name for state in edge)
        for edge in conflict_edges(signature)
    }


class _Graph:
    """The conflict graph of a workload, with what is known of groups of its types."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._edges = _edges(signature)
        self._pieces: dict[frozenset[str], int] = {}

    def conflicts(self, one: frozenset[str], other: frozenset[str]) -> int:
        """Return the number of edges between two groups."""
        return sum(bool(types & one and types & other) for types in self._edges.values())

    def pieces(self, group: frozenset[str]) -> int:
        """Return the number of pieces of a group, without conflicts with other types."""
        if group not in self._pieces:
            outside = frozenset(edge for edge, types in self._edges.items() if not types <= group)
            pieces = ConflictAnalysis(self._signature, outside).pieces
            self._pieces[group] = sum(len(pieces[name]) for name in group)
        return self._pieces[group]
