"""Determines the key columns of tables, from definitions or from equality predicates."""

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
"""Pairs of type families; each value of the first occurs once in the second."""

_TOLD_BY_TYPE = frozenset({"text", "padded", "citext", "name", "byte", "enum", "real"})
"""Families of types in which a number without quotes differs from the quoted one."""


class TableKeys:
    """The key columns of tables.

    If a table's definition is unknown, the columns of the first statement with equality predicates
    count as its key.

    Args:
        catalog: the known definitions of the database.
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self.catalog = catalog or Catalog()
        self._asked_by: dict[str, tuple[str, ...]] = {}
        self._forms: dict[tuple[str, str, bool], Form | None] = {}

    def definition(self, table: str) -> TableDefinition | None:
        """Return a table's definition, if it is known."""
        return self.catalog.tables.get(table)

    def asked(self, table: str, columns: Collection[str]) -> tuple[str, ...]:
        """Return the key columns of an undefined table, given a statement's predicate columns."""
        known = self._asked_by.setdefault(table, tuple(sorted(columns)))
        return known if set(known) <= set(columns) else tuple(sorted(columns))

    def asked_by(self, table: str) -> tuple[str, ...] | None:
        """Return the columns of the first predicates on an undefined table; None before them."""
        return self._asked_by.get(table)

    def formed(self, table: str, column: str, part: KeyPart, *, stored: bool = False) -> KeyPart:
        """Return a part of a key, in the form of its column's type.

        Args:
            table: the table.
            column: the column of the key.
            part: the source of the column's value.
            stored: whether the value is written, or compared with stored values.
        """
        if part.casts:
            named = self.catalog.types
            casts = tuple(replace(cast, kind=resolved(cast.kind, named)) for cast in part.casts)
            return replace(part, casts=casts, column=self.column_type(table, column), stored=stored)
        form = self._form(table, column, stored)
        kind = self.column_type(table, column)
        if kind is not None and kind.family in _TOLD_BY_TYPE:
            return replace(part, form=form, column=kind, stored=stored)
        return part if form is None else replace(part, form=form)

    def resolved(self, part: KeyPart) -> KeyPart:
        """Return a constant outside of keys, with casts to PostgreSQL's own types."""
        named = self.catalog.types
        casts = tuple(replace(cast, kind=resolved(cast.kind, named)) for cast in part.casts)
        return replace(part, casts=casts)

    def column_type(self, table: str, column: str) -> SqlType | None:
        """Return the type of a column, if it is known."""
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
