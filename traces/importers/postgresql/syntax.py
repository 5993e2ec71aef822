"""Small questions to a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from traces.importers.postgresql import literals
from traces.importers.postgresql.accesses import KeyPart
from traces.importers.postgresql.catalog import full_name

DIALECT = "postgres"

_VALUE = "value"
"""Marks a literal that is a value, where others are numbers of slots."""


def folded(identifier: exp.Expr) -> str:
    """A name as PostgreSQL knows it: in lower case unless it was quoted."""
    return identifier.name if identifier.args.get("quoted") else literals.folded(identifier.name)


def table_name(table: exp.Table) -> str:
    """A table's name in a trace: with its schema, unless that is `public`."""
    schema = folded(table.args["db"]) if table.args.get("db") else ""
    return full_name(schema, folded(table.this))


def mark_values(tree: exp.Expr) -> exp.Expr:
    """Mark the literals of a definition: they are values, and no numbers of slots."""
    for literal in tree.find_all(exp.Literal):
        literal.meta[_VALUE] = True
    return tree


def flattened(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that all have to hold."""
    stack = [condition]
    while stack:
        node = stack.pop().unnest()
        if isinstance(node, exp.And):
            stack += (node.expression, node.this)
        else:
            yield node


def queries_in_expressions(tree: exp.Expr) -> list[exp.Expr]:
    """The queries inside a statement's expressions: not those in FROM, WITH and the like."""
    elsewhere = ("with_", "from_", "joins", "using", "this", "laterals")
    own = (*elsewhere, "expression") if isinstance(tree, exp.Insert) else elsewhere
    found: list[exp.Expr] = []
    for name, child in tree.args.items():
        if name in own:
            continue
        for node in child if isinstance(child, list) else [child]:
            if isinstance(node, exp.Expr):
                found += _outermost_queries(node)
    for join in tree.args.get("joins") or ():
        if join.args.get("on") is not None:
            found += _outermost_queries(join.args["on"])
    return found


def _outermost_queries(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Query):
        return [node]
    return [query for child in node.iter_expressions() for query in _outermost_queries(child)]


def projections(query: exp.Expr, alias: exp.Expr) -> dict[str, exp.Expr]:
    """What the columns of a query stand for, by name."""
    if isinstance(query, exp.Values):
        return first_row(query)
    if not isinstance(query, exp.Select):
        return {}
    names = alias.alias_column_names or [one.alias_or_name for one in query.expressions]
    return {
        name.lower(): one.unalias()
        for name, one in zip(names, query.expressions, strict=False)
        if name
    }


def unnested(node: exp.Unnest) -> dict[str, exp.Expr]:
    """The columns of `unnest($1, $2) AS x(a, b)`."""
    alias = node.args.get("alias")
    names = [folded(column) for column in alias.columns] if alias is not None else []
    if not names:
        names = [node.alias.lower() or "unnest"]
    made = [exp.Explode(this=one) for one in node.expressions]
    return dict(zip(names, made, strict=False))


def single_column(query: exp.Expr) -> exp.Expr | None:
    """The one column of a query that takes its rows from nowhere: `SELECT unnest($1)`."""
    query = query.unnest()
    if isinstance(query, exp.Values):
        row = query.expressions[0] if len(query.expressions) == 1 else None
        items = row.expressions if isinstance(row, exp.Tuple) else [row]
        return items[0] if len(items) == 1 else None
    if not isinstance(query, exp.Select) or query.args.get("from_") or query.args.get("where"):
        return None
    return query.expressions[0].unalias() if len(query.expressions) == 1 else None


def first_row(values: exp.Values) -> dict[str, exp.Expr]:
    """The columns of a list of rows that was folded into one."""
    if len(values.expressions) != 1 or not isinstance(values.expressions[0], exp.Tuple):
        return {}
    row = values.expressions[0].expressions
    names = values.alias_column_names or [f"column{n + 1}" for n in range(len(row))]
    return {name.lower(): one for name, one in zip(names, row, strict=False)}


def bare(node: exp.Expr) -> exp.Expr:
    """An expression without parentheses and casts around it."""
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    return node


def constant(node: exp.Expr) -> KeyPart | None:
    """Where a constant's value is found; None for anything else."""
    node = bare(node)
    if isinstance(node, exp.Literal):
        if node.meta.get(_VALUE):
            return KeyPart(None, node.this)
        return KeyPart(int(node.this)) if node.this.isdecimal() else None
    if isinstance(node, exp.Explode):
        return array(node)
    if isinstance(node, exp.Boolean):
        return KeyPart(None, str(bool(node.this)).lower())
    return None


def array(node: exp.Any | exp.Explode) -> KeyPart | None:
    """`ANY($1)`, `ANY(ARRAY[1, 2])` and `unnest($1)`."""
    inner = bare(node.this)
    if isinstance(inner, exp.Array):
        return constant(inner.expressions[0]) if len(inner.expressions) == 1 else None
    part = constant(inner)
    return KeyPart(part.slot, is_array=True) if part is not None else None
