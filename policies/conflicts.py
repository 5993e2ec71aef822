"""Static conflict analysis of a workload: pieces, and the waits between them.

IC3 (Wang et al., SIGMOD 2016) and Callas RP (Xie et al., SOSP 2015) make this analysis before a
run; Polyjuice uses it in table 1 and §7.3. Its only input is the signature.

*Conflicts.* Two accesses conflict if they use the same table and at least one writes. Keys are not
known statically. Commutativity and uniqueness are not assumed (§7.2 turns both off in IC3), so two
inserts into one table conflict.

*Pieces.* The graph has one node per access. A directed S-edge leads from each access to the next
one of its type. An undirected C-edge joins any two conflicting accesses, including those of one
type, because several instances of it run. A cycle with an S-edge is an S-C cycle: instances that
each finished one end of the edge would wait for each other at the other end. The accesses of one
type on a common cycle, and all accesses between them, are merged into one piece, until no cycle is
left.

`read STOCK; update STOCK` is such a cycle, so a read and the write that follows it share a piece.
All iterations of a loop over a table share one too. Two types that use two tables in opposite
orders have both accesses merged, and so have longer cycles of types.

*Waits.* Before a transaction T runs piece p, and before T exposes p, each T' in its dependency set
must have finished the pieces that conflict with p, so that the order of the first conflict also
holds at p. Let L(p, X) be the end of the last piece of type X that conflicts with p.

- If p conflicts with the type X of T', T waits for L(p, X).
- If it does not, T' may stand between T and a T'' of type Y that T does not know, because T tracks
  direct dependencies only. T' must then have passed a piece before which it waited for T'' as long
  as p needs. This is the first piece q of X with L(q, Y) ≥ L(p, Y), for every Y. In §7.3's example
  NewOrder's STOCK waits for Payment's CUSTOMER. If X has no such q, T waits for the last piece of X
  that conflicts with T's own type, which is the most that T' can do before its commit.
- No wait is needed for a type that T cannot depend on yet, because no piece so far conflicts with
  it. A piece without conflicts needs no wait either.

This orders nearly all conflicts. Validation finds the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from policies.document import WaitAction
from policies.signature import Access, Signature, TransactionType


@dataclass(frozen=True)
class Piece:
    """Consecutive accesses of one type that are exposed to other transactions together.

    Attributes:
        type: name of the transaction type.
        index: position among the pieces of its type.
        accesses: its accesses in order, at least one.
        conflicting: whether any access of the workload conflicts with it.
    """

    type: str
    index: int
    accesses: tuple[Access, ...]
    conflicting: bool

    @property
    def first(self) -> int:
        """State of its first access."""
        return self.accesses[0].state

    @property
    def last(self) -> int:
        """State of its last access, which finishes the piece."""
        return self.accesses[-1].state

    @property
    def last_write(self) -> int | None:
        """State of its last write; None if it only reads."""
        return max((access.state for access in self.accesses if access.writes), default=None)


def accesses_conflict(one: Access, other: Access) -> bool:
    """Return whether two accesses use the same table and at least one of them writes."""
    return one.table == other.table and (one.writes or other.writes)


def last_conflicting_access(access: Access, kind: TransactionType) -> int | None:
    """Return the state of a type's last access that conflicts with an access; None without one."""
    states = (other.state for other in kind.accesses if accesses_conflict(access, other))
    return max(states, default=None)


Edge = tuple[int, int]
"""Two states whose accesses conflict, the lower one first. They are equal if instances of one type
conflict at the state."""


def conflict_edges(signature: Signature) -> tuple[Edge, ...]:
    """Return the C-edges of a workload's conflict graph, in order."""
    return tuple(
        (access.state, other.state)
        for number, access in enumerate(signature.accesses)
        for other in signature.accesses[number:]
        if accesses_conflict(access, other)
    )


@dataclass(frozen=True)
class ConflictAnalysis:
    """The pieces of a workload and the waits between them. `analyse` returns a cached one.

    Attributes:
        signature: signature of the workload.
        dropped: C-edges to leave out of the graph. The waits then order fewer conflicts, and
            validation finds the others.
    """

    signature: Signature
    dropped: frozenset[Edge] = frozenset()

    @cached_property
    def pieces(self) -> dict[str, tuple[Piece, ...]]:
        """The pieces of each type, in order, by type name."""
        groups: list[tuple[Access, ...]] = [(access,) for access in self.signature.accesses]
        while len(merged := self._merge(groups)) < len(groups):
            groups = merged
        pieces: dict[str, list[Piece]] = {name: [] for name in self.signature.type_names}
        for group in groups:
            name = self.signature.type_of(group[0].state).name
            conflicting = any(self._conflict(group, (other,)) for other in self.signature.accesses)
            pieces[name].append(Piece(name, len(pieces[name]), group, conflicting))
        return {name: tuple(found) for name, found in pieces.items()}

    def piece_of(self, state: int) -> Piece:
        """Return the piece of a state."""
        kind = self.signature.type_of(state)
        return next(piece for piece in self.pieces[kind.name] if piece.last >= state)

    def last_conflicting_piece(self, piece: Piece, type_name: str) -> int | None:
        """Return L(p, X), the last state of the type's last piece that conflicts with a piece."""
        return self._last_conflicting[piece.type][piece.index][type_name]

    @cached_property
    def _last_conflicting(self) -> dict[str, list[dict[str, int | None]]]:
        """L(p, X) by the type of p, its index, and X."""
        names = self.signature.type_names
        return {
            name: [{other: self._last_met(piece, other) for other in names} for piece in pieces]
            for name, pieces in self.pieces.items()
        }

    def _last_met(self, piece: Piece, type_name: str) -> int | None:
        ends = (
            other.last
            for other in self.pieces[type_name]
            if self._conflict(piece.accesses, other.accesses)
        )
        return max(ends, default=None)

    def wait(self, piece: Piece, type_name: str) -> WaitAction:
        """Return the wait for dependencies of a type before a piece runs or is exposed."""
        direct = self.last_conflicting_piece(piece, type_name)
        if direct is not None:
            return direct
        reached = (
            self._first_piece_covering(type_name, other, needed)
            for other in self.signature.type_names
            if (needed := self.last_conflicting_piece(piece, other)) is not None
        )
        most = self._last_piece_meeting(type_name, piece.type)
        ends = [most if end is None else end for end in reached]
        return max((end for end in ends if end is not None), default="NO_WAIT")

    def waits_after(self, piece: Piece) -> dict[str, WaitAction]:
        """Return the waits, by type, between running a piece and exposing it."""
        return self._waits(piece, self.pieces[piece.type][: piece.index + 1])

    def waits_before(self, piece: Piece) -> dict[str, WaitAction]:
        """Return the waits, by type, before running a piece, without its own conflicts."""
        return self._waits(piece, self.pieces[piece.type][: piece.index])

    def _waits(self, piece: Piece, run: Iterable[Piece]) -> dict[str, WaitAction]:
        known = list(run)
        return {
            name: self.wait(piece, name)
            if any(self.last_conflicting_piece(past, name) is not None for past in known)
            else "NO_WAIT"
            for name in self.signature.type_names
        }

    def _first_piece_covering(self, type_name: str, other: str, needed: int) -> int | None:
        for piece in self.pieces[type_name]:
            reached = self.last_conflicting_piece(piece, other)
            if reached is not None and reached >= needed:
                return piece.last
        return None

    def _last_piece_meeting(self, type_name: str, other: str) -> int | None:
        ends = (
            piece.last
            for piece in self.pieces[type_name]
            if self.last_conflicting_piece(piece, other) is not None
        )
        return max(ends, default=None)

    def _merge(self, groups: list[tuple[Access, ...]]) -> list[tuple[Access, ...]]:
        """Merge the groups of a type that are on a common S-C cycle, once."""
        reach = _reachable(self._edges(groups))
        merged: list[tuple[Access, ...]] = []
        position = 0
        while position < len(groups):
            states = self.signature.type_of(groups[position][0].state).states
            end = max(
                other
                for other in range(position, len(groups))
                if groups[other][0].state in states
                and (other == position or (position in reach[other] and other in reach[position]))
            )
            merged.append(tuple(a for group in groups[position : end + 1] for a in group))
            position = end + 1
        return merged

    def _edges(self, groups: list[tuple[Access, ...]]) -> list[set[int]]:
        edges: list[set[int]] = []
        for number, group in enumerate(groups):
            edges.append({n for n, other in enumerate(groups) if self._conflict(group, other)})
            following = group[-1].state + 1
            if following in self.signature.type_of(group[0].state).states:
                edges[number].add(number + 1)
        return edges

    @cached_property
    def _met(self) -> tuple[frozenset[int], ...]:
        """The states whose accesses conflict with each state."""
        met: list[set[int]] = [set() for _ in self.signature.accesses]
        for state, other in _edges_of(self.signature) - self.dropped:
            met[state].add(other)
            met[other].add(state)
        return tuple(map(frozenset, met))

    def _conflict(self, one: Iterable[Access], other: Iterable[Access]) -> bool:
        states = {access.state for access in other}
        return any(not self._met[access.state].isdisjoint(states) for access in one)


@lru_cache(maxsize=8)
def _edges_of(signature: Signature) -> frozenset[Edge]:
    return frozenset(conflict_edges(signature))


@lru_cache(maxsize=32)
def analyse(signature: Signature, dropped: frozenset[Edge] = frozenset()) -> ConflictAnalysis:
    """Return the conflict analysis of a workload, without some C-edges."""
    return ConflictAnalysis(signature, dropped)


def _reachable(edges: list[set[int]]) -> list[set[int]]:
    """Return for each node the nodes that a path of at least one edge leads to."""
    reach = []
    for start in range(len(edges)):
        seen: set[int] = set()
        open_nodes = [start]
        while open_nodes:
            fresh = edges[open_nodes.pop()] - seen
            seen |= fresh
            open_nodes.extend(fresh)
        reach.append(seen)
    return reach
