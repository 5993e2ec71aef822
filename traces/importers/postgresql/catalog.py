"""The tables, views, types and functions of a database that the importer needs."""

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
    """The definition of a table.

    Attributes:
        columns: its columns in order; empty if only its key is known.
        key: the columns of its primary key, in the key's order; empty if it has none.
        types: the types of the columns, as SQL.
        unique: the columns of its unique constraints and indexes, by their names.
    """

    columns: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    unique: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """The definition of a view.

    Attributes:
        query: its query, in which constants are marked.
        columns: the names of its columns, if they differ from the query's.
        calls: the functions that the query calls, by their names without schema.
    """

    query: exp.Expr
    columns: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Catalog:
    """The definitions of a database. Names include their schema, unless that is `public`.

    Attributes:
        tables: the tables, by name.
        parents: the parents of partitions and of tables that inherit.
        views: the views, by name.
        types: the types behind domains and enumerations.
        functions: whether functions use tables, directly or indirectly, by names without schema.
        triggers: tables and views with a trigger that uses tables.
        instead: the kinds of writes that a trigger replaces, by view.
        rules: the kinds of writes that a rule rewrites, by table or view.
        cascades: tables whose deletions cascade to another table.
        followed: the columns whose updates cascade to another table, by table.
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
        """Whether there is a table or a view with this name."""
        return name in self.tables or name in self.views

    def root(self, table: str) -> str:
        """Return the topmost table that a partition belongs to; otherwise the table itself."""
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
    """Return a name with its schema, unless that is `public`.

    Names with a dot are quoted as in SQL: `"a.b"` is not a table of a schema `a`.
    """
    return f"{_quoted(schema)}.{_quoted(name)}" if schema not in ("", PUBLIC) else _quoted(name)


def split_name(full: str) -> tuple[str, str]:
    """Return the schema and the name of a full name; the schema is empty for `public`."""
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
