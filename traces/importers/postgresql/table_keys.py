"""Which columns are a table's key: from its definition, or from what statements ask by."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from traces.importers.postgresql.accesses import Cast, KeyPart
from traces.importers.postgresql.catalog import Catalog, TableDefinition
from traces.importers.postgresql.column_types import (
    Form,
    SqlType,
    form_of,
    resolved,
    sql_type,
)

_KEEPING = frozenset({("whole", "numeric"), ("enum", "text"), ("name", "text")})
"""Families of types of which the first has each value once in the second."""

_TOLD_BY_TYPE = frozenset({"text", "padded", "citext", "name", "byte", "enum", "real"})
"""Families of types of which a number without quotes is another value than the same in quotes."""


class TableKeys:
    """The key columns of tables.

    Where a table's definition is not known, the columns that the first statement with equality
    predicates asks by are taken for its key.

    Args:
        catalog: what is known of the database.
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self.catalog = catalog or Catalog()
        self._asked_by: dict[str, tuple[str, ...]] = {}
        self._forms: dict[tuple[str, str, bool], Form | None] = {}

    def definition(self, table: str) -> TableDefinition | None:
        """A table's definition, if it is known."""
        return self.catalog.tables.get(table)

    def asked(self, table: str, columns: Collection[str]) -> tuple[str, ...]:
        """The key columns of a table that is not defined, of those that a statement asks by."""
        known = self._asked_by.setdefault(table, tuple(sorted(columns)))
        return known if set(known) <= set(columns) else tuple(sorted(columns))

    def asked_by(self, table: str) -> tuple[str, ...] | None:
        """What such a table was asked by first; None before that."""
        return self._asked_by.get(table)

    def formed(self, table: str, column: str, part: KeyPart, *, stored: bool = False) -> KeyPart:
        """A part of a key, in the form of the type of its column.

        Args:
            table: whose key.
            column: of the key.
            part: where the column's value comes from.
            stored: whether the value is written, or compared with those that were.
        """
        if part.casts:
            named = self.catalog.types
            casts = tuple(replace(one, kind=resolved(one.kind, named)) for one in part.casts)
            return replace(part, casts=casts, column=self.column_type(table, column), stored=stored)
        form = self._form(table, column, stored)
        kind = self.column_type(table, column)
        if kind is not None and kind.family in _TOLD_BY_TYPE:
            return replace(part, form=form, column=kind, stored=stored)
        return part if form is None else replace(part, form=form)

    def resolved(self, part: KeyPart) -> KeyPart:
        """A constant that is no part of a key, with its casts to types of PostgreSQL's own."""
        named = self.catalog.types
        casts = tuple(replace(one, kind=resolved(one.kind, named)) for one in part.casts)
        return replace(part, casts=casts)

    def column_type(self, table: str, column: str) -> SqlType | None:
        """The type of a column, if it is known."""
        definition = self.definition(table)
        kind = definition.types.get(column, "") if definition is not None else ""
        return sql_type(resolved(kind, self.catalog.types)) if kind else None

    def keeps_values(self, table: str, column: str, cast: Cast) -> bool:
        """Whether values of a column are equal after a cast only if they were before."""
        kind = self.column_type(table, column)
        to = sql_type(resolved(cast.kind, self.catalog.types))
        if kind is None or not kind.family or cast.is_array or cast.size or to.size:
            return False
        return kind.family == to.family or (kind.family, to.family) in _KEEPING

    def _form(self, table: str, column: str, stored: bool) -> Form | None:
        asked = (table, column, stored)
        if asked not in self._forms:
            definition = self.definition(table)
            kind = definition.types.get(column, "") if definition is not None else ""
            form = form_of(kind, self.catalog.types, stored=stored) if kind else None
            self._forms[asked] = form
        return self._forms[asked]
