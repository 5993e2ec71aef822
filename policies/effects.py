"""What a table does: its cells less those that can have no effect in it.

A search leaves values in cells that nobody could notice. A dirty read of a table on which nothing
is ever published finds committed rows only; a wait for a type on which the transaction cannot
depend by then waits for nobody; a `PUBLIC` write validates whether or not early validation is set.
What can be known of that from the table alone is derived here, as the engine does when it compiles
a policy (engine/protocol/compiled_policy.cc), and somewhat further: here by type, there by table.

A transaction comes to depend on another one (paper §3.1, §4.3) when it reads a row of it that is
published and not committed, or when it publishes a write behind what the other has in the record's
access list: a published write, or a read that a publication point of the other entered there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from policies.document import CcRow, PolicyDocument, WaitAction
from policies.signature import Access, TransactionType

UNORDERED = ("generic", "replay")
"""Workloads whose transactions need not make their accesses in the order of the states."""


@dataclass(frozen=True)
class RowEffect:
    """What a row does.

    Attributes:
        wait: per type; `NO_WAIT` where there can be nobody to wait for.
        dirty: whether the access may be given what is published and not committed.
        publishes: whether it makes writes visible.
        validates: whether it is followed by an early validation.
    """

    wait: dict[str, WaitAction]
    dirty: bool
    publishes: bool
    validates: bool


@dataclass(frozen=True)
class Effects:
    """What each row of a policy does.

    Attributes:
        document: the policy.
    """

    document: PolicyDocument

    @cached_property
    def rows(self) -> tuple[RowEffect, ...]:
        """By state."""
        return tuple(self._row(row) for row in self.document.cc)

    def can_depend(self, state: int) -> frozenset[str]:
        """The types on which a transaction that comes to this access may depend by then."""
        return frozenset(
            name for before in self._before(state) for name in self.dependencies_from(before.state)
        )

    def dependencies_from(self, state: int) -> frozenset[str]:
        """The types on which this access, and the publication after it, may make one depend."""
        access = self.document.signature.accesses[state]
        found: set[str] = set()
        if self._reads_dirty(access):
            found |= self._writers(access.table)
        if _publishes(self.document.cc[access.state]):
            # A point makes visible whatever the transaction has written until then.
            kind = self.document.signature.type_of(access.state)
            for table in {other.table for other in kind.accesses if other.writes}:
                found |= self._writers(table) | self._known_readers(table)
        return frozenset(found)

    @cached_property
    def published_tables(self) -> frozenset[str]:
        """The tables that have access lists, for some row publishes a write to them."""
        accesses = self.document.signature.accesses
        return frozenset(accesses[row.state].table for row in self.document.cc if _publishes(row))

    def _row(self, row: CcRow) -> RowEffect:
        known = self.can_depend(row.state)
        publishes = _publishes(row)
        return RowEffect(
            wait={name: cell if name in known else "NO_WAIT" for name, cell in row.wait.items()},
            dirty=self._reads_dirty(self.document.signature.accesses[row.state]),
            publishes=publishes,
            validates=publishes or row.early_validation,
        )

    def _reads_dirty(self, access: Access) -> bool:
        wanted = self.document.cc[access.state].read_version == "DIRTY"
        return wanted and access.table in self.published_tables

    def _before(self, state: int) -> list[Access]:
        """The accesses that may be made before this one: in a loop, those behind it too."""
        signature = self.document.signature
        kind = signature.type_of(state)
        if signature.workload in UNORDERED:
            return list(kind.accesses)
        last = state - 1
        while signature.accesses[state].loop and last + 1 in kind.states:
            if not signature.accesses[last + 1].loop:
                break
            last += 1
        return [access for access in kind.accesses if access.state <= last]

    def _writers(self, table: str) -> set[str]:
        """The types whose writes to a table may be visible before they commit."""
        return {
            kind.name
            for kind in self.document.signature.types
            if any(access.writes and access.table == table for access in kind.accesses)
            and any(_publishes(self.document.cc[state]) for state in kind.states)
        }

    def _known_readers(self, table: str) -> set[str]:
        """The types whose reads of a table may be in its access lists."""
        if table not in self.published_tables:
            return set()
        return {
            kind.name
            for kind in self.document.signature.types
            if any(access.table == table for access in kind.accesses) and self._has_point(kind)
        }

    def _has_point(self, kind: TransactionType) -> bool:
        rows = (self.document.cc[state] for state in kind.states)
        return any(_publishes(row) or row.early_validation for row in rows)


def _publishes(row: CcRow) -> bool:
    return row.write_visibility == "PUBLIC"
