"""What the clauses of a MERGE do to rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from traces.importers.postgresql.syntax import folded


@dataclass
class Clauses:
    """The WHEN clauses of a MERGE.

    Attributes:
        kinds: what is done to rows that are there: `update`, `delete`.
        updates: of rows that are there.
        inserts: of rows that are not.
        to_others: whether something is done to rows that no row of the source matches.
    """

    kinds: set[str] = field(default_factory=set)
    updates: list[exp.Update] = field(default_factory=list)
    inserts: list[exp.Insert] = field(default_factory=list)
    to_others: bool = False

    def kind(self) -> str:
        """The kind of access that they make to a row of the key that is asked by."""
        if self.kinds:
            # The row is there more often than not: what contends is what is done to it then.
            return "delete" if self.kinds == {"delete"} and not self.inserts else "update"
        return "insert" if self.inserts else "read"


def clauses_of(merge: exp.Merge) -> Clauses:
    """The clauses of a MERGE that do something."""
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
    """The values of a row that MERGE inserts, by column.

    Args:
        insert: the clause's action.
        columns: of the table, for where the action names none.
    """
    named = insert.this
    names = [folded(one.this) for one in named.expressions] if named is not None else columns
    values = insert.expression
    given = values.expressions if isinstance(values, exp.Tuple) else []
    return dict(zip(names, given, strict=False))
