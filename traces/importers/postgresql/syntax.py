"""Queries about syntax trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from traces.importers.postgresql import literals
from traces.importers.postgresql.accesses import Cast, KeyPart, Limit
from traces.importers.postgresql.catalog import full_name
from traces.importers.postgresql.column_types import sql_type

DIALECT = "postgres"

_VALUE = "value"
"""Marks a literal that is a value, because other literals are numbers of slots."""


COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
"""Conditions that hold for no row if a side is NULL."""


QUERIES = (exp.Query, exp.Values)
"""Nodes that have rows; to the parser, a list of rows is no query."""


def folded(identifier: exp.Expr) -> str:
    """Return a name as PostgreSQL folds it: in lower case unless it was quoted."""
    return identifier.name if identifier.args.get("quoted") else literals.folded(identifier.name)


def table_name(table: exp.Table) -> str:
    """Return a table's name in a trace: with its schema, unless that is `public`."""
    schema = folded(table.args["db"]) if table.args.get("db") else ""
    return full_name(schema, folded(table.this))


def mark_values(tree: exp.Expr) -> exp.Expr:
    """Mark the literals of a definition as values, not numbers of slots."""
    for literal in tree.find_all(exp.Literal):
        literal.meta[_VALUE] = True
    return tree


def flattened(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions of a conjunction."""
    stack = [condition]
    while stack:
        node = stack.pop().unnest()
        either = node.this.unnest() if isinstance(node, exp.Not) else None
        if isinstance(node, exp.And):
            stack += (node.expression, node.this)
        elif isinstance(either, exp.Or):
            stack += (exp.Not(this=side.copy()) for side in (either.expression, either.this))
        else:
            yield node


def row_of(node: exp.Expr) -> list[exp.Expr]:
    """Return the items of `(a, b)`; of any other node, the node itself."""
    node = node.unnest()
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def query_of_in(condition: exp.In) -> exp.Expr | None:
    """Return the query of `IN (SELECT …)`; None for a list of values."""
    listed: list[exp.Expr] = condition.expressions
    inside = listed[0] if len(listed) == 1 and isinstance(listed[0], QUERIES) else None
    query: exp.Expr | None = condition.args.get("query") or inside
    return query


def required_by(tree: exp.Expr) -> frozenset[str]:
    """Return the sources that WHERE requires to have a row, because it compares their columns."""
    where = tree.args.get("where")
    if where is None:
        return frozenset()
    sides = [
        side
        for part in flattened(where.this)
        if isinstance(part, (*COMPARISONS, exp.In, exp.Between))
        for side in (part.this, part.expression)
    ]
    columns = [bare(side) for side in sides if isinstance(side, exp.Expr)]
    return frozenset(table_of(column) for column in columns if isinstance(column, exp.Column)) - {
        ""
    }


def queries_in_expressions(tree: exp.Expr) -> list[exp.Expr]:
    """Return the queries inside a statement's expressions, except in FROM, WITH and WHERE."""
    elsewhere = ("with_", "from_", "joins", "using", "on", "where", "this", "laterals")
    own = (*elsewhere, "expression") if isinstance(tree, exp.Insert) else elsewhere
    return [
        query
        for name, child in tree.args.items()
        if name not in own
        for node in (child if isinstance(child, list) else [child])
        if isinstance(node, exp.Expr)
        for query in outermost_queries(node)
    ]


def outermost_queries(node: exp.Expr) -> list[exp.Expr]:
    """Return the outermost queries inside an expression."""
    if isinstance(node, exp.Query):
        return [node]
    return [query for child in node.iter_expressions() for query in outermost_queries(child)]


def alias_of(node: exp.Expr) -> str:
    """Return the alias of a source in its query; empty if it has none."""
    alias = node.args.get("alias")
    name = alias.this if isinstance(alias, exp.TableAlias) else alias
    if name is None and isinstance(node, exp.Table):
        name = node.this
    return folded(name) if isinstance(name, exp.Identifier) else ""


def table_of(column: exp.Column) -> str:
    """Return the table that qualifies a column; empty if none does."""
    table = column.args.get("table")
    return folded(table) if isinstance(table, exp.Identifier) else ""


def column_names(node: exp.Expr) -> list[str]:
    """Return the names that an alias gives to columns: `AS x(a, b)`."""
    alias = node.args.get("alias")
    columns = alias.columns if isinstance(alias, exp.TableAlias) else ()
    return [folded(column) for column in columns]


def projections(query: exp.Expr, names: list[str]) -> dict[str, exp.Expr]:
    """Return the expressions behind the columns of a query, by name.

    Args:
        query: the query.
        names: the names of its first columns, if they are given outside of it.
    """
    values = _all_values(query)
    if values is not None:
        return first_row(values, names or column_names(values))
    if not isinstance(query, exp.Select):
        return {}
    found: dict[str, exp.Expr] = {}
    for place, projection in enumerate(query.expressions):
        if projection.is_star:
            if names:  # the number of columns that it stands for is unknown
                return {}
            found["*"] = projection
            continue
        name = names[place] if place < len(names) else _projected_name(projection)
        found[name or f" {place}"] = projection.unalias()
    return found


def is_list_of_rows(query: exp.Expr) -> bool:
    """Whether a query is only `VALUES`, or creates its rows from constants."""
    return _all_values(query) is not None or row_of_constants(query) is not None


def _all_values(query: exp.Expr) -> exp.Values | None:
    """Return the list of rows of a query, also in the parser's form `SELECT * FROM (VALUES …)`."""
    if isinstance(query, exp.Select) and len(query.expressions) == 1:
        from_ = query.args.get("from_")
        others = ("joins", "where", "limit", "offset", "group", "having", "distinct")
        plain = isinstance(query.expressions[0], exp.Star)
        plain = plain and not any(query.args.get(clause) for clause in others)
        query = from_.this if from_ is not None and plain else query
    return query if isinstance(query, exp.Values) else None


def _projected_name(node: exp.Expr) -> str:
    """Return the name of a column of a query."""
    if isinstance(node, exp.Alias):
        return folded(node.args["alias"])
    if isinstance(node, exp.Column):
        return folded(node.this)
    return "unnest" if isinstance(node, exp.Explode) else ""


def unnested(node: exp.Unnest) -> dict[str, exp.Expr]:
    """Return the columns of `unnest($1, $2) AS x(a, b)`."""
    names = column_names(node)
    if not names and len(node.expressions) == 1:
        names = [alias_of(node) or "unnest"]
    # Columns without a name can't be referred to, but `*` includes them.
    names += [f" {place}" for place in range(len(names), len(node.expressions))]
    made = [exp.Explode(this=item) for item in node.expressions]
    return dict(zip(names, made, strict=False))


def row_of_constants(query: exp.Expr) -> list[exp.Expr] | None:
    """Return the columns of a query without sources: `SELECT unnest($1)`."""
    if is_partial(query):
        return None
    query = query.unnest()
    if isinstance(query, exp.Values):
        row = query.expressions[0] if len(query.expressions) == 1 else None
        return row_of(row) if row is not None else None
    elsewhere = ("from_", "joins", "laterals", "group", "having")
    if not isinstance(query, exp.Select) or any(query.args.get(clause) for clause in elsewhere):
        return None
    return [node.unalias() for node in query.expressions]


def first_row(values: exp.Values, names: list[str]) -> dict[str, exp.Expr]:
    """Return the columns of a list of rows that was folded into one."""
    if len(values.expressions) != 1 or not isinstance(values.expressions[0], exp.Tuple):
        return {}
    row = values.expressions[0].expressions
    names = names + [f"column{n + 1}" for n in range(len(names), len(row))]
    return dict(zip(names, row, strict=False))


def in_a_list(node: exp.Expr) -> bool:
    """Whether the expression of a column has a value in each row of a list of rows."""
    row = node.parent
    inside = isinstance(row, exp.Tuple) and isinstance(row.parent, exp.Values)
    return inside or isinstance(bare(node), exp.Explode)


def is_partial(query: exp.Expr) -> bool:
    """Whether a query omits rows that fulfil its conditions, or rows of its lists."""
    while isinstance(query, exp.Subquery):
        if _limited(query):
            return True
        query = query.this
    if _limited(query):
        return True
    nowhere = isinstance(query, exp.Select) and not query.args.get("from_")
    return nowhere and query.args.get("where") is not None


def is_sealed(query: exp.Expr) -> bool:
    """Whether conditions on a query's columns do not restrict the rows that it reads."""
    while isinstance(query, exp.Subquery):
        if _limited(query) or query.args.get("locks"):
            return True
        query = query.this
    return (
        not isinstance(query, (exp.Select, exp.Values))
        or _limited(query)
        or bool(query.args.get("locks"))
        or (isinstance(query, exp.Select) and always_has_rows(query))
        or any(node.find(exp.Window) for node in query.expressions)
    )


def always_has_rows(query: exp.Select) -> bool:
    """Whether a query returns a row even if no row fulfils its conditions: `SELECT count(*)`."""
    group = query.args.get("group")
    if group is not None:
        sets = ("grouping_sets", "cube", "rollup", "totals")
        return not group.expressions or any(group.args.get(clause) for clause in sets)
    if query.args.get("having"):
        return True
    plain = any(isinstance(node.unalias(), (exp.Column, exp.Star)) for node in query.expressions)
    # Only PostgreSQL's own functions are known to be no aggregates.
    return not plain and any(_has_function(node) for node in query.expressions)


def _has_function(node: exp.Expr) -> bool:
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, (exp.AggFunc, exp.Anonymous)):
        return True
    return any(_has_function(child) for child in node.iter_expressions())


def _limited(query: exp.Expr) -> bool:
    distinct = query.args.get("distinct")
    by_some = isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None
    return by_some or any(query.args.get(key) for key in ("limit", "offset"))


_NEW_VALUES = frozenset({"nextval", "gen_random_uuid", "uuidv4", "uuidv7"})
"""Functions that return a unique new value."""


def is_new_value(node: exp.Expr) -> bool:
    """Whether the database generates a unique value: DEFAULT, a sequence's, or a new UUID."""
    node = bare(node)
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        return name in _NEW_VALUES or name.startswith("uuid_generate_")
    return isinstance(node, exp.Uuid) or (isinstance(node, exp.Var) and node.name == "DEFAULT")


def bare(node: exp.Expr) -> exp.Expr:
    """Return an expression without the parentheses and casts around it."""
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    return node


def constant(node: exp.Expr) -> KeyPart | None:
    """Return the source of a constant's value, with its casts; None for other expressions."""
    node, casts = without_casts(node)
    if isinstance(node, exp.Explode):
        part = array(node)
    else:
        part = _plain_constant(node, is_cast=bool(casts))
    return replace(part, casts=(*part.casts, *casts)) if part is not None and casts else part


def array(node: exp.Expr) -> KeyPart | None:
    """Return the source of `ANY($1)`, `ANY(ARRAY[1, 2])`, `ALL($1)` or `unnest($1)`."""
    if isinstance(node, exp.Anonymous) and len(node.expressions) != 1:
        return None
    inner, casts = without_casts(
        node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    )
    # A text that is cast to an array is parsed as one.
    of_items = [
        replace(cast, is_array=False) for cast in casts if cast.is_array or not _is_text(cast)
    ]
    if isinstance(inner, exp.Array):
        part = constant(inner.expressions[0]) if len(inner.expressions) == 1 else None
    else:
        part = _plain_constant(inner, is_cast=bool(of_items))
        part = replace(part, is_array=True) if part is not None else None
    return replace(part, casts=(*part.casts, *of_items)) if part is not None else None


def _plain_constant(node: exp.Expr, *, is_cast: bool) -> KeyPart | None:
    if isinstance(node, exp.Literal):
        if node.meta.get(_VALUE):
            return KeyPart(None, node.sql(DIALECT) if is_cast else node.this)
        return KeyPart(int(node.this)) if node.this.isdecimal() else None
    if isinstance(node, exp.Boolean):
        return KeyPart(None, str(bool(node.this)).lower())
    return None


def without_casts(node: exp.Expr) -> tuple[exp.Expr, list[Cast]]:
    """Return an expression without parentheses and casts, and the casts, innermost first."""
    casts: list[Cast] = []
    while isinstance(node, (exp.Paren, exp.Cast)):
        if isinstance(node, exp.Cast):
            casts.insert(0, cast_to(node.to))
        node = node.this
    return node, casts


def cast_to(kind: exp.DataType) -> Cast:
    """Return a cast to a type."""
    is_array = False
    while kind.is_type(exp.DataType.Type.ARRAY) and isinstance(kind.expressions[0], exp.DataType):
        kind, is_array = kind.expressions[0], True
    plain = kind.copy()
    plain.set("expressions", None)
    name = plain.sql(DIALECT)
    numbers = [_plain_constant(parameter.this, is_cast=False) for parameter in kind.expressions]
    if '"' not in name:
        name = literals.folded(name)
    if name.startswith("_"):  # PostgreSQL's internal names of array types
        name, is_array = name[1:], True
    return Cast(name, tuple(number for number in numbers if number is not None), is_array)


def _is_text(cast: Cast) -> bool:
    return sql_type(cast.kind).family == "text"


def limits_of(query: exp.Expr) -> tuple[Limit, ...]:
    """Return the limits of a query by LIMIT and OFFSET; empty: all rows pass."""
    limit, offset = query.args.get("limit"), query.args.get("offset")
    if limit is None and offset is None:
        return ()
    unclear, rows, skipped = False, None, None
    if limit is not None:
        node = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
        options = limit.args.get("limit_options")
        unclear = options is not None and any(
            options.args.get(key) for key in ("percent", "with_ties")
        )
        rows = constant(node) if node is not None else None
        all_of_them = isinstance(node, exp.Null) or (
            isinstance(node, exp.Var) and node.name.upper() == "ALL"
        )
        unclear = unclear or (rows is None and not all_of_them)
    if offset is not None:
        skipped = constant(offset.expression)
        unclear = unclear or skipped is None
    return (Limit(rows, skipped, unclear),)
