"""PostgreSQL's dialect of the parser, with functions of a schema."""

from __future__ import annotations

from functools import lru_cache

from sqlglot.dialects.postgres import Postgres


@lru_cache(maxsize=8)
def dialect_with(functions: frozenset[str]) -> type[Postgres]:
    """Return the dialect in which some functions are user-defined.

    The parser interprets the names of functions of other databases, such as `compress` and `last`,
    and loses the name.

    Args:
        functions: their names, in lower case.
    """
    if not functions:
        return Postgres
    tables = ("FUNCTIONS", "FUNCTION_PARSERS")
    known = {
        table: {
            name: function
            for name, function in getattr(Postgres.Parser, table).items()
            if name.lower() not in functions
        }
        for table in tables
    }
    parser = type("Parser", (Postgres.Parser,), known)
    return type("PostgresWithFunctions", (Postgres,), {"Parser": parser})
