"""What an INSERT writes: the keys of new rows, and those of the rows that an upsert meets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from traces.importers.postgresql.accesses import (
    DOES_NOTHING,
    KEY_NOT_NAMED,
    OTHER_KEY,
    Access,
    KeyPart,
)
from traces.importers.postgresql.syntax import constant, folded, in_a_list, is_new_value, table_of
from traces.importers.postgresql.table_keys import TableKeys

Values = Mapping[str, exp.Expr]
"""The values of a new row, by column."""

_ROWS = 1
"""The number of the list of rows that are inserted."""


class Inserting:
    """One INSERT being read.

    Args:
        keys: of the tables.
        table: the one that is inserted into.
        called: where it is inserted into a view, what the view's columns are in the table.

    Attributes:
        reasons: why something is left out or guessed, of `accesses`.
        guessed: whether the key was to be guessed, and could not yet be.
        sets: the columns that an upsert sets in the row that is there.
    """

    def __init__(
        self, keys: TableKeys, table: str, called: Mapping[str, str] | None = None
    ) -> None:
        self._keys = keys
        self._called = called or {}
        self._table = table
        self._definition = keys.definition(table)
        self.reasons: list[str] = []
        self.guessed = False
        self.sets: tuple[str, ...] = ()

    def columns(self) -> tuple[str, ...]:
        """The columns of the table, as far as they are known."""
        return self._definition.columns if self._definition is not None else ()

    def access(self, values: Values, conflict: exp.Expr | None) -> Access:
        """The access of an insertion.

        Args:
            values: of the rows, of which a list was folded into one.
            conflict: `ON CONFLICT`, if there is one.
        """
        if conflict is None:
            made = self._key(values)
            if made is None and self._gives_key(values):
                self.reasons.append(KEY_NOT_NAMED)
            return Access(self._table, "insert", made)
        updates = "UPDATE" in str(conflict.args.get("action")).upper()
        if not updates:
            self.reasons.append(DOES_NOTHING)
        # The row is there more often than not: what contends is its update.
        kind = "update" if updates else "insert"
        columns = self._arbiters(conflict)
        key = self._definition.key if self._definition is not None else ()
        self.sets = tuple(self._set_columns(conflict, columns or key))
        if columns is None:  # which row is there can't be told
            self.reasons.append(KEY_NOT_NAMED)
            return Access(self._table, "insert", self._key(values))
        if columns and self._definition is None:
            self._keys.asked(self._table, columns)
        elif columns and set(columns) != set(key):
            return self._of_other_columns(kind, columns, values)
        if updates and not set(columns or key).isdisjoint(self.sets):
            self.reasons.append(KEY_NOT_NAMED)
        made = self._key(values)
        if made is None and values and (not key or self._gives_key(values)):
            self.reasons.append(KEY_NOT_NAMED)
        return Access(self._table, kind if made is not None else "insert", made)

    def _gives_key(self, values: Values) -> bool:
        """Whether the key is given, and not made by the database."""
        if self._definition is not None:
            key = self._definition.key
        else:
            key = self._keys.asked_by(self._table) or ()
        given = [values[column] for column in key if column in values]
        return bool(key) and len(given) == len(key) and not any(map(is_new_value, given))

    def _arbiters(self, conflict: exp.Expr) -> tuple[str, ...] | None:
        """The columns by which the row that is there is found.

        Returns:
            Empty: any of them may be it. None: they are not known.
        """
        constraint = conflict.args.get("constraint")
        if constraint is not None:
            # What is known of a table without a definition is guessed in any case.
            name = folded(constraint)
            return self._definition.unique.get(name) if self._definition is not None else ()
        nodes = [one.this for one in conflict.args.get("conflict_keys") or ()]
        if not all(isinstance(node, exp.Column) for node in nodes):
            return tuple(node.sql() for node in nodes)
        names = [folded(node.this) for node in nodes]
        return tuple(self._called.get(name, name) for name in names)

    def _of_other_columns(self, kind: str, columns: tuple[str, ...], values: Values) -> Access:
        """An upsert by a unique constraint that is not the primary key."""
        parts = [self._part(column, values) for column in sorted(columns)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            self.reasons.append(KEY_NOT_NAMED)
            return Access(self._table, "insert", self._key(values))
        self.reasons.append(OTHER_KEY)
        name = KeyPart(None, ",".join(sorted(columns)))
        return Access(self._table, kind, (name, *known))

    def _set_columns(self, conflict: exp.Expr, key: tuple[str, ...]) -> Iterator[str]:
        """The columns that the row that is there gets other values of.

        Args:
            conflict: `ON CONFLICT`.
            key: the columns in which the new row is the same.
        """
        for one in conflict.args.get("expressions") or ():
            for name, value in assignments(one):
                column = self._called.get(name, name)
                same = isinstance(value, exp.Column) and folded(value.this) == name
                new = isinstance(value, exp.Column) and table_of(value) == "excluded"
                if not same or (new and column not in key):
                    yield column

    def _key(self, values: Values) -> tuple[KeyPart, ...] | None:
        definition = self._definition
        asked: tuple[str, ...] | None = None
        if definition is not None:
            wanted = definition.key
        else:
            asked = self._keys.asked_by(self._table)
            self.guessed = asked is None
            wanted = asked if asked and set(asked) <= set(values) else tuple(sorted(values))
        parts = [self._part(column, values) for column in wanted]
        if definition is None and asked is None:
            parts = [part for part in parts if part is not None]
        if not parts or None in parts:
            return None
        return tuple(part for part in parts if part is not None)

    def _part(self, column: str, values: Values) -> KeyPart | None:
        part = constant(values[column]) if column in values else None
        if part is None:
            return None
        if part.slot is not None and in_a_list(values[column]):
            part = replace(part, rows=_ROWS)
        return self._keys.formed(self._table, column, part, stored=True)


def assignments(node: exp.Expr) -> list[tuple[str, exp.Expr]]:
    """The columns that an item of SET gives values to, with the values."""
    if not isinstance(node, exp.EQ):
        return []
    left, right = node.this.unnest(), node.expression
    if isinstance(left, exp.Tuple):
        values = right.expressions if isinstance(right, (exp.Tuple, exp.Anonymous)) else []
        pairs = [
            (column, values[place] if place < len(values) else right)
            for place, column in enumerate(left.expressions)
        ]
    else:
        row = isinstance(right, exp.Anonymous) and right.name.lower() == "row"
        pairs = [(left, right.expressions[0] if row and right.expressions else right)]
    return [
        (folded(column.this), value) for column, value in pairs if isinstance(column, exp.Column)
    ]
