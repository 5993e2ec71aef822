"""Which columns are a table's key: from its definition, or from what statements ask by."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from traces.errors import TraceError
from traces.importers.base import LeftOut
from traces.importers.byte_order import read_text
from traces.importers.postgresql import literals

DIALECT = "postgres"

# sqlglot logs what it reads as an opaque command; such statements are counted and named instead.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

_DEFINITION = re.compile(
    r"^[ \t]*(?:create\s+(?:\w+\s+){0,2}table\b|alter\s+table\b[^;]*\bprimary\s+key\b).*",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class TableDefinition:
    """A table as it was defined.

    Attributes:
        columns: in their order; empty if only its key is known.
        key: the columns of its primary key, in the key's order; empty if it has none.
    """

    columns: tuple[str, ...] = ()
    key: tuple[str, ...] = ()


class TableKeys:
    """The key columns of tables.

    Where a table's definition is not known, the columns that the first statement with equality
    predicates asks by are taken for its key.

    Args:
        definitions: of the tables that are known, by name.
    """

    def __init__(self, definitions: Mapping[str, TableDefinition] | None = None) -> None:
        self._definitions = dict(definitions or {})
        self._asked_by: dict[str, tuple[str, ...]] = {}

    def definition(self, table: str) -> TableDefinition | None:
        """A table's definition, if it is known."""
        return self._definitions.get(table)

    def asked(self, table: str, columns: Collection[str]) -> tuple[str, ...]:
        """The key columns of a table that is not defined, of those that a statement asks by."""
        known = self._asked_by.setdefault(table, tuple(sorted(columns)))
        return known if set(known) <= set(columns) else tuple(sorted(columns))

    def asked_by(self, table: str) -> tuple[str, ...] | None:
        """What such a table was asked by first; None before that."""
        return self._asked_by.get(table)


def table_name(table: exp.Table) -> str:
    """A table's name in a trace: with its schema, unless that is `public`."""
    name = folded(table.this)
    schema = folded(table.args["db"]) if table.args.get("db") else ""
    return f"{schema}.{name}" if schema not in ("", "public") else name


def folded(identifier: exp.Expr) -> str:
    """A name as PostgreSQL knows it: in lower case unless it was quoted."""
    return identifier.name if identifier.args.get("quoted") else identifier.name.lower()


def read_definitions(path: Path, left_out: LeftOut) -> dict[str, TableDefinition]:
    """The tables that a script defines, such as `pg_dump --schema-only` writes.

    What else is in it is passed over.

    Args:
        path: of the script.
        left_out: where definitions that can't be read are counted.

    Raises:
        TraceError: the file can't be read, or defines no table.
    """
    text = read_text(path, "write it with pg_dump -E UTF8")
    found: dict[str, TableDefinition] = {}
    for place, statement in literals.statements(text):
        definition = _DEFINITION.search(statement)
        if definition is None:
            continue
        try:
            _add(found, sqlglot.parse_one(definition[0], dialect=DIALECT))
        except (SqlglotError, RecursionError):
            line = text.count("\n", 0, place + definition.start()) + 1
            first = definition[0].split("\n", 1)[0]
            left_out.bad(
                "table definition that can't be read", 1, [f"{path.name}:{line}: {first[:100]}"]
            )
    if not found:
        raise TraceError(f"{path}: defines no table; write it with pg_dump --schema-only")
    return found


def _add(found: dict[str, TableDefinition], statement: exp.Expr) -> None:
    table = statement.find(exp.Table)
    if table is None:
        return
    name = table_name(table)
    columns = tuple(
        folded(column.this)
        for column in statement.find_all(exp.ColumnDef)
        if isinstance(statement, exp.Create)
    )
    key = _primary_key(statement)
    known = found.get(name, TableDefinition())
    found[name] = TableDefinition(columns or known.columns, key or known.key)


def _primary_key(statement: exp.Expr) -> tuple[str, ...]:
    whole = statement.find(exp.PrimaryKey)
    if whole is not None:
        return tuple(folded(part.find(exp.Identifier) or part) for part in whole.expressions)
    return tuple(
        folded(column.this)
        for column in statement.find_all(exp.ColumnDef)
        if column.find(exp.PrimaryKeyColumnConstraint)
    )
