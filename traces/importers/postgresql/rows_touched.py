"""The accesses of a statement to the rows of its sources, of what is known of their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from traces.importers.postgresql.accesses import (
    CASCADE,
    KEY_NOT_NAMED,
    LOCK_NOT_NAMED,
    NO_DEFINITION,
    TRIGGER,
    Access,
    KeyPart,
    Narrowing,
)
from traces.importers.postgresql.scopes import Facts, Solved, Source, facts_of
from traces.importers.postgresql.syntax import constant
from traces.importers.postgresql.table_keys import TableKeys

_Candidates = Mapping[str, Sequence[KeyPart]]
"""Columns, with all the constants that each is equal to."""


class RowsTouched:
    """Makes accesses, when all conditions of a statement are read.

    Args:
        keys: of the tables.

    Attributes:
        reasons: why something is left out or guessed, of `accesses`.
    """

    def __init__(self, keys: TableKeys) -> None:
        self._keys = keys
        self._solved: Solved = {}
        self.reasons: list[str] = []

    def by(self, source: Source) -> Iterator[Access]:
        """The accesses to one source."""
        facts = facts_of(source.scope, self._solved)
        if source.table is None or facts.never:
            return
        definition = self._keys.definition(source.table)
        if definition is None:
            self.reasons.append(NO_DEFINITION)
        kind = source.made_as or source.kind
        if source.locked and kind == "read":
            kind = "update"
        if kind != "read" and not source.locked:
            self._follow(source.table, kind)
        if source.kind == "insert":
            yield from source.inserted
            return
        bound = facts.bound_columns(source)
        wanted: tuple[str, ...] = ()
        if definition is not None and definition.key:
            wanted = definition.key
        elif bound:
            wanted = self._keys.asked(source.table, bound)
        found = {
            column: [self._keys.formed(source.table, column, part) for part in bound[column]]
            for column in wanted
            if column in bound
        }
        if wanted and len(found) == len(wanted):
            key, only = _joined(found)
            yield Access(source.table, kind, key, only, not_null=_others(facts, key))
        else:
            first = self._first_of_range(source, wanted, found, facts)
            yield Access(source.table, "scan", first, not_null=_others(facts, first))
            if kind != "read":
                self.reasons.append(LOCK_NOT_NAMED if source.locked else KEY_NOT_NAMED)
        yield from self._moved(source, wanted, found, facts)

    def _moved(
        self, source: Source, wanted: Sequence[str], found: _Candidates, facts: Facts
    ) -> Iterator[Access]:
        """An update that sets the key writes another row, too."""
        table = source.table or ""
        definition = self._keys.definition(table)
        if definition is None:
            return
        new: dict[str, Sequence[KeyPart]] = {}
        for column, value, other in source.assigned:
            same = other is not None and facts.are_same(other, (source, column))
            if same or column not in definition.key:
                continue
            part = constant(value)
            parts = facts.constants(other) if other is not None else ()
            if part is not None:
                parts = (part,)
            if not parts:
                self.reasons.append(KEY_NOT_NAMED)
                return
            new[column] = [self._keys.formed(table, column, part, stored=True) for part in parts]
        if not new:
            return
        if len(found) == len(wanted):
            key, only = _joined({**found, **{f" {name}": parts for name, parts in new.items()}})
            places = list(new)
            moved = tuple(
                len(wanted) + places.index(column) if column in new else place
                for place, column in enumerate(wanted)
            )
            yield Access(table, "update", key, only, moved, _others(facts, key))
        elif len({**found, **new}) == len(wanted):
            key, only = _joined({column: {**found, **new}[column] for column in wanted})
            yield Access(table, "update", key, only, not_null=_others(facts, key))

    def _first_of_range(
        self, source: Source, wanted: Sequence[str], found: _Candidates, facts: Facts
    ) -> tuple[KeyPart, ...]:
        """The start of the key of what is scanned, as far as it is known.

        Args:
            source: whose rows.
            wanted: the columns of the key; empty: not known.
            found: those that are equal to constants.
            facts: of the source's scope.
        """
        key: list[KeyPart] = []
        for column in wanted:
            if column in found:
                key.append(found[column][0])
                continue
            part = facts.lowest((source, column))
            if part is not None:
                key.append(self._keys.formed(source.table or "", column, part))
            return tuple(key)
        return tuple(key) if wanted else tuple(facts.lowest_of(source))[:1]

    def _follow(self, table: str, kind: str) -> None:
        """What the database does by itself after a write."""
        catalog = self._keys.catalog
        if table in catalog.triggers:
            self.reasons.append(TRIGGER)
        if kind == "delete" and table in catalog.cascades:
            self.reasons.append(CASCADE)


def _joined(found: _Candidates) -> tuple[tuple[KeyPart, ...], tuple[Narrowing, ...]]:
    """One constant for each column, and what the others say of the rows that these make.

    Constants of one list of rows are taken together where they can be.
    """
    lists = Counter(part.rows for parts in found.values() for part in parts if part.rows)
    key = tuple(max(parts, key=lambda part: lists[part.rows]) for parts in found.values())
    places = list(enumerate(found.values()))
    narrowings: dict[Narrowing, None] = {}
    for place, parts in places:
        for part in parts:
            if part is key[place]:
                continue
            together = [
                (other, one)
                for other, candidates in places
                for one in candidates
                if part.rows and one.rows == part.rows
            ]
            narrowings[tuple(together) or ((place, part),)] = None
    return key, tuple(narrowings)


def _others(facts: Facts, key: Sequence[KeyPart]) -> tuple[KeyPart, ...]:
    """Values that must not be NULL, but for those of the key, of which NULL makes none."""
    slots = {part.slot for part in key}
    return tuple(part for part in facts.not_null if part.slot not in slots)
