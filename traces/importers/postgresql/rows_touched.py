"""Derives the accesses of a statement to rows from the facts about their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from traces.importers.postgresql.accesses import (
    CASCADE,
    KEY_FOLLOWED,
    KEY_NOT_NAMED,
    LOCK_NOT_NAMED,
    NO_DEFINITION,
    NOT_EVALUATED,
    TRIGGER,
    Access,
    Comparison,
    Filter,
    KeyPart,
    Narrowing,
    Test,
)
from traces.importers.postgresql.scopes import Assigned, Facts, Solved, Source, facts_of
from traces.importers.postgresql.syntax import constant, is_new_value
from traces.importers.postgresql.table_keys import TableKeys

_Candidates = Mapping[str, Sequence[KeyPart]]
"""Columns, with all constants that each equals."""


class RowsTouched:
    """Creates accesses after all conditions of a statement are read.

    Args:
        keys: the keys of the tables.

    Attributes:
        reasons: the reasons of what is left out or guessed, of `accesses`.
    """

    def __init__(self, keys: TableKeys) -> None:
        self._keys = keys
        self._solved: Solved = {}
        self.reasons: list[str] = []

    def by(self, source: Source) -> Iterator[Access]:
        """Yield the accesses to one source."""
        facts = facts_of(source.scope, self._solved)
        if source.table is None or (facts.never and not source.added):
            return
        definition = self._keys.definition(source.table)
        if definition is None:
            self.reasons.append(NO_DEFINITION)
        kind = source.made_as or source.kind
        added = list(self._added(source, facts))
        if added and kind == "insert":
            kind = "read"  # the row that is looked up differs from the one that is inserted
        if source.locked and kind == "read":
            kind = "update"
        if kind != "read" and not source.locked:
            self._follow(source, kind)
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
        if facts.has_unread([(source, column) for column in found]):
            self.reasons.append(NOT_EVALUATED)
        # If no row fulfils the conditions, a MERGE inserts one.
        tests = self._tests(facts) if not source.added else ()
        if wanted and len(found) == len(wanted):
            key, only = _joined(found)
            access = Access(source.table, kind, key, only, not_null=_others(facts, key))
            filters = tuple(self._filters(source, wanted, facts))
            access = replace(access, tests=tests, filters=filters)
            if source.locked and source.limits:
                yield replace(access, limits=source.limits)
                yield replace(access, kind="read", limits=source.limits, within=False)
            else:
                yield access
        else:
            first = self._first_of_range(source, wanted, found, facts)
            starts = tuple(self._starts(source, wanted, len(first), facts))
            access = Access(source.table, "scan", first, not_null=_others(facts, first))
            yield replace(access, tests=tests, filters=starts)
            if kind != "read":
                self.reasons.append(LOCK_NOT_NAMED if source.locked else KEY_NOT_NAMED)
        for moved in self._moved(source, wanted, found, facts):
            yield replace(moved, tests=tests, filters=tuple(self._filters(source, found, facts)))
        yield from added

    def _tests(self, facts: Facts) -> tuple[Test, ...]:
        """Return the conditions without which no row fulfils all of them."""
        made = [Test((part,), (comparison,)) for part, comparison in facts.tests]
        for columns in facts.tested():
            typed = [
                (source.table, name)
                for source, name in columns
                if source.table is not None and self._keys.column_type(source.table, name)
            ]
            equal, compared = facts.constants(columns[0]), facts.compared(columns[0])
            if not equal and not _is_two_sided(compared):
                continue
            kind = None
            if typed:
                kind = self._keys.column_type(*typed[0])
                equal = tuple(self._keys.formed(*typed[0], part) for part in equal)
            made.append(Test(equal, compared, kind))
        return tuple(dict.fromkeys(made))

    def _filters(self, source: Source, columns: Iterable[str], facts: Facts) -> Iterator[Filter]:
        """Yield the conditions on the values at positions of a key."""
        for place, column in enumerate(columns if not source.added else ()):
            for comparison in facts.compared((source, column)):
                kind = self._keys.column_type(source.table or "", column)
                yield Filter(place, comparison, kind)

    def _added(self, source: Source, facts: Facts) -> Iterator[Access]:
        """Yield the insertions of a MERGE, except those with the keys that it looks up."""
        table = source.table or ""
        definition = self._keys.definition(table)
        columns = definition.key if definition is not None else ()
        for row in source.added if columns else ():
            given = {assignment.column: assignment for assignment in row.given}
            values = [given[column] for column in columns if column in given]
            if len(values) < len(columns) or any(is_new_value(value.value) for value in values):
                if source.made_as == "insert":
                    yield Access(table, "insert", None)
                continue
            origin = facts_of(row.scope, self._solved)
            found = {value.column: _constants(value, origin) for value in values}
            asked = all(
                value.other is not None
                and facts.are_same(value.other, (source, value.column))
                and found[value.column] == facts.constants((source, value.column))
                for value in values
            )
            if not all(found.values()):
                self.reasons.append(KEY_NOT_NAMED)
            elif not asked:
                key, only = _joined(self._stored(table, found))
                yield Access(table, "insert", key, only)

    def _stored(self, table: str, found: _Candidates) -> _Candidates:
        return {
            column: [self._keys.formed(table, column, part, stored=True) for part in parts]
            for column, parts in found.items()
        }

    def _moved(
        self, source: Source, wanted: Sequence[str], found: _Candidates, facts: Facts
    ) -> Iterator[Access]:
        """Add the second row that an update of the key writes."""
        table = source.table or ""
        definition = self._keys.definition(table)
        if definition is None:
            return
        given = {
            assigned.column: _constants(assigned, facts)
            for assigned in source.assigned
            if assigned.column in definition.key
            and not (
                assigned.other is not None
                and facts.are_same(assigned.other, (source, assigned.column))
            )
        }
        if not all(given.values()):
            self.reasons.append(KEY_NOT_NAMED)
            return
        if not given:
            return
        new = self._stored(table, given)
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
        """Return the known start of the key of a scan.

        Args:
            source: the scanned source.
            wanted: the columns of the key; empty: unknown.
            found: the columns that equal constants.
            facts: the facts of the source's scope.
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

    def _starts(
        self, source: Source, wanted: Sequence[str], known: int, facts: Facts
    ) -> Iterator[Filter]:
        """Return further lower bounds of the last column of a range's start."""
        if not 0 < known <= len(wanted):
            return
        table, column = source.table or "", wanted[known - 1]
        if facts.constants((source, column)):
            return
        lower = [
            comparison
            for comparison in facts.compared((source, column))
            if comparison.operator[0] == ">"
        ]
        for part in lower[1:]:
            formed = replace(part, part=self._keys.formed(table, column, part.part))
            yield Filter(known - 1, formed, self._keys.column_type(table, column))

    def _follow(self, source: Source, kind: str) -> None:
        """Report what the database does by itself after a write."""
        catalog, table = self._keys.catalog, source.table or ""
        if table in catalog.triggers:
            self.reasons.append(TRIGGER)
        if (kind == "delete" or source.deletes) and table in catalog.cascades:
            self.reasons.append(CASCADE)
        followed = catalog.followed.get(table, frozenset())
        set_ = {
            assigned.column
            for assigned in source.assigned
            if assigned.other != (source, assigned.column)
        }
        if not followed.isdisjoint(set_ | {*source.sets}):
            self.reasons.append(KEY_FOLLOWED)


def _is_two_sided(compared: Sequence[Comparison]) -> bool:
    """Whether there are both a lower and an upper bound."""
    return {">", "<"} <= {
        comparison.operator[0] for comparison in compared if comparison.operator != "<>"
    }


def _constants(given: Assigned, facts: Facts) -> tuple[KeyPart, ...]:
    """Return the known constants of a value."""
    part = constant(given.value)
    if part is not None:
        return (part,)
    return facts.constants(given.other) if given.other is not None else ()


def _joined(found: _Candidates) -> tuple[tuple[KeyPart, ...], tuple[Narrowing, ...]]:
    """Return one constant for each column, and the restrictions by the others.

    Constants of one list of rows are combined if possible.
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
                (other, candidate)
                for other, candidates in places
                for candidate in candidates
                if part.rows and candidate.rows == part.rows
            ]
            narrowings[tuple(together) or ((place, part),)] = None
    return key, tuple(narrowings)


def _others(facts: Facts, key: Sequence[KeyPart]) -> tuple[KeyPart, ...]:
    """Return values that must not be NULL, except those of the key, which NULL excludes anyway."""
    slots = {part.slot for part in key}
    return tuple(part for part in facts.not_null if part.slot not in slots)
