"""Determines what the clauses of a MERGE do to rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from traces.importers.postgresql.syntax import folded


@dataclass
class Clauses:
    """The WHEN clauses of a MERGE.

    Attributes:
        kinds: the operations on existing rows: `update`, `delete`.
        updates: the updates of existing rows.
        inserts: the insertions of missing rows.
        to_others: whether rows are changed that no row of the source matches.
    """

    kinds: set[str] = field(default_factory=set)
    updates: list[exp.Update] = field(default_factory=list)
    inserts: list[exp.Insert] = field(default_factory=list)
    to_others: bool = False

    def kind(self) -> str:
        """The kind of access to a row of the key that is looked up."""
        if self.kinds:
            # The row usually exists, so what is done to it is what causes contention.
            return "delete" if self.kinds == {"delete"} and not self.inserts else "update"
        return "insert" if self.inserts else "read"


def clauses_of(merge: exp.Merge) -> Clauses:
    """Return the clauses of a MERGE that have an effect."""
    clauses = Clauses()
    for when in merge.args["whens"].expressions:
        then = when.args.get("then")
        if isinstance(then, exp.Insert):
            clauses.inserts.append(then)
            continue
        if isinstance(then, exp.Update):
            clauses.kinds.add("update")
            clauses.updates.append(then)
        elif str(then).lower() == "delete":
            clauses.kinds.add("delete")
        else:
            continue
        clauses.to_others |= bool(when.args.get("source")) and not when.args.get("matched")
    return clauses


def inserted_values(insert: exp.Insert, columns: tuple[str, ...]) -> dict[str, exp.Expr]:
    """Return the values of a row that MERGE inserts, by column.

    Args:
        insert: the action of the clause.
        columns: the columns of the table, used if the action names none.
    """
    named = insert.this
    names = [folded(column.this) for column in named.expressions] if named is not None else columns
    values = insert.expression
    given = values.expressions if isinstance(values, exp.Tuple) else []
    return dict(zip(names, given, strict=False))
