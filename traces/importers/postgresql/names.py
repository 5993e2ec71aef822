"""Resolves names of tables along the search path, as the database does."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from traces.importers.postgresql.accesses import OF_SEVERAL, OFF_THE_PATH
from traces.importers.postgresql.catalog import PUBLIC, Catalog, full_name
from traces.importers.postgresql.syntax import folded, table_name

DEFAULT_PATH = ("$user", PUBLIC)
"""PostgreSQL's own schemas."""

_SYSTEM = ("pg_catalog", "information_schema", "pg_temp", "")


@dataclass(frozen=True)
class Names:
    """Resolves names along one search path.

    Attributes:
        catalog: the known definitions of the database.
        path: the schemas in order, as they are written.
    """

    catalog: Catalog
    path: tuple[str, ...] = (PUBLIC,)

    def resolve(self, table: exp.Table) -> tuple[str, str | None]:
        """Return the full name of a table or a view, and the reason if it is a guess."""
        if table.args.get("db"):
            return table_name(table), None
        name = folded(table.this)
        schemas = [schema for schema in self.path if schema not in _SYSTEM]
        for schema in schemas:
            if self.catalog.has(found := full_name(schema, name)):
                return found, None
        elsewhere = self.catalog.of_name.get(name, ())
        if elsewhere:
            return elsewhere[0], OFF_THE_PATH if len(elsewhere) == 1 else OF_SEVERAL
        return full_name(schemas[0] if schemas else PUBLIC, name), None


def path_of(schemas: tuple[str, ...], role: str, catalog: Catalog) -> tuple[str, ...]:
    """Replace `$user` in a search path by the role's schema, if there is such a schema."""
    named = [role if schema == "$user" else schema for schema in schemas]
    known = [
        schema
        for schema, written in zip(named, schemas, strict=True)
        if written != "$user" or schema in catalog.schemas
    ]
    return tuple(dict.fromkeys(known))


def of_the_system(table: str) -> bool:
    """Whether a table is one of PostgreSQL's catalogs, which are no data of an application."""
    return table.startswith(("pg_", "information_schema."))
