"""The effect of a policy table, without the cells that cannot have one.

A search leaves values in cells that have no effect:

- a dirty read of a table without published writes reads committed rows only,
- a wait for a type on which the transaction cannot depend yet does not wait,
- a `PUBLIC` write validates whether or not early validation is set.

This module derives such cells from the table alone. The engine does the same when it compiles a
policy (engine/protocol/compiled_policy.cc), by table. The analysis here is by type and finds more.

A transaction depends on another one (paper §3.1, §4.3) after one of two events. It reads a row that
the other has published and not committed. Or it publishes a write after an entry of the other in
the record's access list, which is a published write, or a read that a publication point entered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from policies.document import CcRow, PolicyDocument, WaitAction
from policies.signature import Access, TransactionType

UNORDERED = ("generic", "replay")
"""The workloads whose transactions may make their accesses in another order than the states'."""


@dataclass(frozen=True)
class RowEffect:
    """The effect of a row.

    Attributes:
        wait: wait action by type; `NO_WAIT` if no dependency of the type is possible.
        dirty: whether the access may read uncommitted versions.
        publishes: whether the access publishes writes.
        validates: whether an early validation follows the access.
    """

    wait: dict[str, WaitAction]
    dirty: bool
    publishes: bool
    validates: bool


@dataclass(frozen=True)
class Effects:
    """The effects of the rows of a policy.

    Attributes:
        document: the policy.
    """

    document: PolicyDocument

    @cached_property
    def rows(self) -> tuple[RowEffect, ...]:
        """The effect of each row, by state."""
        return tuple(self._row(row) for row in self.document.cc)

    def can_depend(self, state: int) -> frozenset[str]:
        """Return the types on which a transaction may depend when it reaches an access."""
        return frozenset(
            name for before in self._before(state) for name in self.dependencies_from(before.state)
        )

    def dependencies_from(self, state: int) -> frozenset[str]:
        """Return the types of the dependencies that an access and its publication may add."""
        access = self.document.signature.accesses[state]
        found: set[str] = set()
        if self._reads_dirty(access):
            found |= self._writers(access.table)
        if _publishes(self.document.cc[access.state]):
            # A publication point publishes all writes so far.
            kind = self.document.signature.type_of(access.state)
            for table in {other.table for other in kind.accesses if other.writes}:
                found |= self._writers(table) | self._known_readers(table)
        return frozenset(found)

    @cached_property
    def published_tables(self) -> frozenset[str]:
        """The tables with access lists, which are those that a row publishes a write to."""
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
        """Return the accesses that may precede an access; in a loop also those after it."""
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
        """Return the types whose writes to a table may be visible before they commit."""
        return {
            kind.name
            for kind in self.document.signature.types
            if any(access.writes and access.table == table for access in kind.accesses)
            and any(_publishes(self.document.cc[state]) for state in kind.states)
        }

    def _known_readers(self, table: str) -> set[str]:
        """Return the types whose reads of a table may be in its access lists."""
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
