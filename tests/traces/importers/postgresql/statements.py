"""The accesses of statements, from their text alone, as plain values."""

from __future__ import annotations

from traces.importers.postgresql.catalog import Catalog
from traces.importers.postgresql.key_values import keys_of
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.templates import Templates

Made = tuple[str, str, list[str]]
"""Kind, table, keys."""


def touched(
    sql: str, parameters: list[str] | None = None, templates: Templates | None = None
) -> tuple[list[Made], set[str]]:
    """Return the accesses of a statement, and the reasons of omissions and guesses."""
    made: list[Made] = []
    reasons: set[str] = set()

    def unsure(reason: str, text: str) -> None:
        reasons.add(reason)

    parts, plans = (templates or Templates(TableKeys(Catalog()))).statements(sql)
    for planned in plans:
        steps = planned.steps_of(parts, parameters, unsure)
        reasons |= {*planned.reasons(steps)}
        for step in steps:
            known = step.access.key is not None
            keys = keys_of(step, parts, parameters, unsure) if known else []
            made.append((step.access.kind, step.access.table, keys))
    return made, reasons
