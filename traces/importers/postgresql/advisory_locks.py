"""Advisory locks: PostgreSQL's functions that lock a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from traces.importers.postgresql.accesses import (
    ADVISORY_NOT_NAMED,
    SESSION_LOCKED,
    SKIPPED_ROWS,
    Access,
    Cast,
    KeyPart,
)
from traces.importers.postgresql.syntax import constant, without_casts

TABLE = "advisory_lock"
"""The table whose rows represent the locks of transactions in a trace."""

_PREFIX = "pg_advisory_"
_TRYING = "pg_try_advisory_"


def advisory_locks(tree: exp.Expr) -> Iterator[Access | str]:
    """Yield the accesses that a statement's locks make, and the reasons of those left out.

    A lock of a transaction is an access to the row of its number: an exclusive lock is a write, and
    a shared lock is a read. Locks of sessions outlive transactions.
    """
    for function in tree.find_all(exp.Anonymous):
        name = function.name.lower()
        tries = name.startswith(_TRYING)
        what = name.removeprefix(_TRYING if tries else _PREFIX)
        if what == name or what.startswith("unlock"):
            continue
        if not what.startswith("xact_lock"):
            yield SESSION_LOCKED
            continue
        key = _key(function.expressions)
        if key is None:
            yield ADVISORY_NOT_NAMED
            continue
        if tries:
            yield SKIPPED_ROWS
        yield Access(TABLE, "read" if what.endswith("_shared") else "update", key)


def _key(arguments: list[exp.Expr]) -> tuple[KeyPart, ...] | None:
    """Return the numbers that are locked, or the constant function that computes one."""
    parts: list[KeyPart] = []
    for argument in arguments:
        node, _ = without_casts(argument)
        if isinstance(node, exp.Anonymous) and node.expressions:
            parts.append(KeyPart(None, node.name.lower()))
            made = [constant(child) for child in node.expressions]
        else:
            made = [_number(constant(argument))]
        for part in made:
            if part is None:
                return None
            parts.append(part)
    return tuple(parts) or None


def _number(part: KeyPart | None) -> KeyPart | None:
    """Return a part as the functions take it: an integer in canonical form."""
    return replace(part, casts=(*part.casts, Cast("bigint"))) if part is not None else None
