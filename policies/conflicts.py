"""Static conflict analysis of a workload: pieces, and how long a piece must wait for whom.

What IC3 (Wang et al., SIGMOD 2016) and Callas RP (Xie et al., SOSP 2015) derive before running,
as Polyjuice's table 1 and §7.3 use it. Everything follows from the signature.

*Conflict.* Two accesses conflict if they touch the same table and at least one writes. Keys are
not known statically, and nothing is assumed of commutativity or uniqueness (§7.2 switches both
off in IC3), so two inserts into one table conflict.

*Pieces.* Take a graph with one node an access, a directed S-edge from each access to the next of
its type, and an undirected C-edge between any two conflicting accesses; a type meets other
instances of itself, so its own accesses are joined too. A cycle through an S-edge is an S-C
cycle: instances that each finished one end of it would wait for each other at the other end.
Accesses of one type on a common cycle are therefore merged, with all between them, into one
piece, until no cycle is left. `read STOCK; update STOCK` is such a cycle, so a read and the write
that follows it share a piece, and so do all rounds of a loop over a table; two types that touch
two tables in opposite orders get both accesses merged, and so do longer rings of types.

*Waits.* Before a transaction T runs piece p, and before it exposes it, each T' in its dependency
set must have finished the pieces that conflict with p: the order that the first conflict set must
hold at p too. Let L(p, X) be the end of the last piece of type X that conflicts with p.

- Where p conflicts with the type X of T', T waits for L(p, X).
- Where it does not, T' may still stand between T and a T'' of type Y, which T does not know since
  it tracks direct dependencies only. Then T' must have got past a piece before which it waited
  for T'' for as long as p needs: the first piece q of X with L(q, Y) ≥ L(p, Y), for every Y. §7.3's
  example comes out of this: NewOrder's STOCK waits for Payment's CUSTOMER. Where X has no such
  q, T waits for the last piece of X that conflicts with its own type, the most that T' can do for
  it before it commits.
- A type that T cannot depend on yet, because no piece so far conflicts with it, and a piece that
  conflicts with nothing, need no wait.

This orders nearly all conflicts, not quite all; what slips through is for validation to find.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from policies.document import WaitAction
from policies.signature import Access, Signature, TransactionType


@dataclass(frozen=True)
class Piece:
    """A run of accesses of one type that is exposed to others as one.

    Attributes:
        type: the transaction type's name.
        index: its position among the pieces of its type.
        accesses: at least one, in order.
        conflicting: whether any access of the workload conflicts with it.
    """

    type: str
    index: int
    accesses: tuple[Access, ...]
    conflicting: bool

    @property
    def first(self) -> int:
        """The state number of its first access."""
        return self.accesses[0].state

    @property
    def last(self) -> int:
        """The state number of its last access: finishing this finishes the piece."""
        return self.accesses[-1].state

    @property
    def last_write(self) -> int | None:
        """The state number of its last write, None if it only reads."""
        return max((access.state for access in self.accesses if access.writes), default=None)


def accesses_conflict(one: Access, other: Access) -> bool:
    """Whether the two touch the same table and at least one of them writes."""
    return one.table == other.table and (one.writes or other.writes)


def last_conflicting_access(access: Access, kind: TransactionType) -> int | None:
    """The state of the type's last access that conflicts with this one, None if none does."""
    states = (other.state for other in kind.accesses if accesses_conflict(access, other))
    return max(states, default=None)


Edge = tuple[int, int]
"""Two states whose accesses conflict, the lower first; one state with itself in other instances."""


def conflict_edges(signature: Signature) -> tuple[Edge, ...]:
    """The C-edges of a workload's conflict graph, in order."""
    return tuple(
        (one.state, other.state)
        for number, one in enumerate(signature.accesses)
        for other in signature.accesses[number:]
        if accesses_conflict(one, other)
    )


@dataclass(frozen=True)
class ConflictAnalysis:
    """The pieces of a workload and the waits between them. Use `analyse`, which caches it.

    Attributes:
        signature: the workload.
        dropped: C-edges that are left out of the graph, as if those accesses did not conflict. What
            follows orders less; validation finds what it lets through.
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
        """The piece that the state belongs to."""
        kind = self.signature.type_of(state)
        return next(piece for piece in self.pieces[kind.name] if piece.last >= state)

    def last_conflicting_piece(self, piece: Piece, type_name: str) -> int | None:
        """The last state of the type's last piece that conflicts with this one: L(p, X)."""
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
        """How far dependencies of type X must be before piece p runs or is exposed."""
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
        """The waits, by type, between running the piece and exposing it."""
        return self._waits(piece, self.pieces[piece.type][: piece.index + 1])

    def waits_before(self, piece: Piece) -> dict[str, WaitAction]:
        """The waits, by type, before running the piece; its own conflicts make no one wait yet."""
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
        """One round: merge the groups of a type that lie on a common S-C cycle."""
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
        """By state, the states whose accesses conflict with its own."""
        met: list[set[int]] = [set() for _ in self.signature.accesses]
        for one, other in _edges_of(self.signature) - self.dropped:
            met[one].add(other)
            met[other].add(one)
        return tuple(map(frozenset, met))

    def _conflict(self, one: Iterable[Access], other: Iterable[Access]) -> bool:
        states = {access.state for access in other}
        return any(not self._met[access.state].isdisjoint(states) for access in one)


@lru_cache(maxsize=8)
def _edges_of(signature: Signature) -> frozenset[Edge]:
    return frozenset(conflict_edges(signature))


@lru_cache(maxsize=32)
def analyse(signature: Signature, dropped: frozenset[Edge] = frozenset()) -> ConflictAnalysis:
    """The conflict analysis of a workload, without the edges that are dropped."""
    return ConflictAnalysis(signature, dropped)


def _reachable(edges: list[set[int]]) -> list[set[int]]:
    """From each node, the nodes that some path of at least one edge leads to."""
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
