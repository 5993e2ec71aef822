"""The tables, views, types and functions of a database, as far as the importer needs them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

PUBLIC = "public"

_PART = re.compile(r'"[^"]*(?:""[^"]*)*"|[^.]+')


@dataclass(frozen=True)
class TableDefinition:
    """A table as it was defined.

    Attributes:
        columns: in their order; empty if only its key is known.
        key: the columns of its primary key, in the key's order; empty if it has none.
        types: of the columns, as SQL.
        unique: the columns of its unique constraints and indexes, by their names.
    """

    columns: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    unique: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """A view.

    Attributes:
        query: what it stands for, with its constants marked as such.
        columns: what its columns are called, where that is not what the query calls them.
        calls: the functions that the query calls, by their names without schema.
    """

    query: exp.Expr
    columns: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Catalog:
    """What a database defines. Names have their schema, unless that is `public`.

    Attributes:
        tables: by name.
        parents: of partitions and of tables that inherit, the table they are a part of.
        views: by name.
        types: what domains and enumerations stand for.
        functions: by their names without schema, whether they, or those they call, use tables.
        triggers: tables and views whose changes make a trigger use tables.
        instead: of views, the kinds of writes that a trigger does in their place.
        rules: of tables and views, the kinds of writes that a rule rewrites.
        cascades: tables whose deletions a foreign key of another table follows.
        followed: of tables, the columns whose updates a foreign key of another table follows.
    """

    tables: Mapping[str, TableDefinition] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, bool] = field(default_factory=dict)
    triggers: frozenset[str] = frozenset()
    instead: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rules: Mapping[str, frozenset[str]] = field(default_factory=dict)
    cascades: frozenset[str] = frozenset()
    followed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether there is a table or a view of this name."""
        return name in self.tables or name in self.views

    def root(self, table: str) -> str:
        """The table that a partition is a part of in the end; of any other table, itself."""
        seen = {table}
        while (parent := self.parents.get(table)) is not None and parent not in seen:
            seen.add(parent)
            table = parent
        return table

    @cached_property
    def functions_of_tables(self) -> frozenset[str]:
        """The functions that use tables."""
        return frozenset(name for name, uses in self.functions.items() if uses)

    @cached_property
    def schemas(self) -> frozenset[str]:
        """The schemas that have tables or views."""
        return frozenset(_schema(name) for name in (*self.tables, *self.views))

    @cached_property
    def of_name(self) -> Mapping[str, tuple[str, ...]]:
        """The full names of all tables and views, by their names without schema."""
        found: dict[str, tuple[str, ...]] = {}
        for name in sorted((*self.tables, *self.views)):
            _, bare = split_name(name)
            found[bare] = (*found.get(bare, ()), name)
        return found


def full_name(schema: str, name: str) -> str:
    """A name with its schema, unless that is `public`.

    Names with a dot are quoted as in SQL: `"a.b"` is no table of a schema `a`.
    """
    return f"{_quoted(schema)}.{_quoted(name)}" if schema not in ("", PUBLIC) else _quoted(name)


def split_name(full: str) -> tuple[str, str]:
    """The schema and the name of a full name; the schema is empty where it is `public`."""
    parts = _PART.findall(full)
    plain = [part[1:-1].replace('""', '"') if part[0] == '"' else part for part in parts]
    return (plain[0] if len(plain) > 1 else ""), plain[-1]


def _quoted(name: str) -> str:
    if "." not in name and '"' not in name:
        return name
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _schema(name: str) -> str:
    return split_name(name)[0] or PUBLIC
