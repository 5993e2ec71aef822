"""Derives from the conditions of a statement which columns equal which values."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from sqlglot import exp

from traces.importers.postgresql.accesses import Comparison, KeyPart
from traces.importers.postgresql.scopes import Column, Derived, Frame, Scope, Source
from traces.importers.postgresql.syntax import (
    COMPARISONS,
    DIALECT,
    QUERIES,
    array,
    bare,
    cast_to,
    constant,
    folded,
    in_a_list,
    row_of,
    table_of,
)
from traces.importers.postgresql.table_keys import TableKeys

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_INVERSE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Operators with exchanged sides; the others stay the same."""


class Bindings:
    """Converts conditions into facts of scopes.

    Args:
        keys: the keys of the tables, whose columns resolve names without a table.
    """

    def __init__(self, keys: TableKeys) -> None:
        self._keys = keys
        self._numbers = count(1)

    def new_list(self) -> int:
        """Return the number of a new list of rows."""
        return next(self._numbers)

    def condition(self, condition: exp.Expr, frame: Frame, scope: Scope) -> None:
        """Add a condition that each row of a scope fulfils."""
        if isinstance(condition, exp.Null) or (
            isinstance(condition, exp.Boolean) and not condition.this
        ):
            scope.never = True
        elif isinstance(condition, exp.EQ):
            self._equality(condition.this, condition.expression, frame, scope)
        elif isinstance(condition, exp.In):
            self._one_of(condition, frame, scope)
        elif isinstance(condition, exp.Not):
            self._negated(condition.this.unnest(), frame, scope)
        elif isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
            for operator, side in ((">=", condition.args["low"]), ("<=", condition.args["high"])):
                self._not_null(scope, condition.this, side)
                self._compare(condition.this, operator, side, frame, scope)
        elif isinstance(condition, COMPARISONS):
            if not _is_all(condition.expression):
                self._not_null(scope, condition.this, condition.expression)
            self._compare(
                condition.this, _OPERATORS[type(condition)], condition.expression, frame, scope
            )
        elif not isinstance(condition, exp.Boolean) and not _is_not_null(condition):
            self._unread(condition, frame, scope)

    def _negated(self, condition: exp.Expr, frame: Frame, scope: Scope) -> None:
        """Add the negation of a condition."""
        if isinstance(condition, exp.Null) or (
            isinstance(condition, exp.Boolean) and condition.this
        ):
            scope.never = True
        elif isinstance(condition, exp.Not):
            self.condition(condition.this.unnest(), frame, scope)
        elif isinstance(condition, COMPARISONS) and not any(
            isinstance(side, (exp.Any, exp.Tuple)) or _is_all(side)
            for side in (condition.this.unnest(), condition.expression.unnest())
        ):
            other = _INVERSE[type(condition)]
            self.condition(
                other(this=condition.this, expression=condition.expression), frame, scope
            )
        elif (
            isinstance(condition, exp.In)
            and len(condition.expressions) == 1
            and not condition.args.get("query")
        ):
            self._none_of(condition, frame, scope)
        else:
            self._unread(condition, frame, scope)

    def _none_of(self, condition: exp.In, frame: Frame, scope: Scope) -> None:
        """Add `NOT IN (…)`."""
        column = self.column(condition.this, frame, scope)
        table = column[0].table if column is not None else None
        kind = self._keys.column_type(table, column[1]) if column and table else None
        if kind is not None and kind.family == "real":  # see `KeyPart.in_list`
            self._unread(condition, frame, scope)
        else:
            self._compare(condition.this, "<>", condition.expressions[0], frame, scope)

    def _compare(
        self, left: exp.Expr, operator: str, right: exp.Expr, frame: Frame, scope: Scope
    ) -> None:
        """Add a comparison of which at least one side is a constant."""
        first, second = self.column(left, frame, scope), self.column(right, frame, scope)
        part = constant(left)
        other = array(right) if operator == "<>" and _is_all(right) else constant(right)
        if first is not None and other is not None:
            scope.compared.append((first, Comparison(operator, self._keys.resolved(other))))
        elif second is not None and part is not None:
            turned = Comparison(_TURNED.get(operator, operator), self._keys.resolved(part))
            scope.compared.append((second, turned))
        elif part is not None and other is not None:
            compared = Comparison(operator, self._keys.resolved(other))
            scope.tests.append((self._keys.resolved(part), compared))
        elif first is None or second is None:
            self._unread(exp.EQ(this=left.copy(), expression=right.copy()), frame, scope)

    def _unread(self, condition: exp.Expr, frame: Frame, scope: Scope) -> None:
        """Record the columns of a condition that can't be interpreted."""
        if condition.find(*QUERIES):
            return
        nodes = list(condition.find_all(exp.Column))
        columns = [self.column(node, frame, scope) for node in nodes]
        known = tuple(column for column in columns if column is not None)
        # A function that stands alone is usually called for its effects, not as a condition.
        is_asked = nodes or not isinstance(condition, (exp.Func, exp.Anonymous, exp.Dot))
        is_asked = is_asked or isinstance(condition, exp.Connector)
        if len(known) == len(nodes) and is_asked:
            scope.unread.append(known)

    def _equality(self, left: exp.Expr, right: exp.Expr, frame: Frame, scope: Scope) -> None:
        left, right = left.unnest(), right.unnest()
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            for one, other in zip(left.expressions, right.expressions, strict=False):
                self._equality(one, other, frame, scope)
            return
        if isinstance(left, exp.Any):
            left, right = right, left
        first = self.column(left, frame, scope)
        if isinstance(right, exp.Any):
            part = array(right)
            if first is not None and part is not None:
                scope.not_null.append(part)
                self._bind(scope, first, part, self.new_list())
            else:
                self._unread(exp.EQ(this=left.copy(), expression=right.copy()), frame, scope)
            return
        self._not_null(scope, left, right)
        second = self.column(right, frame, scope)
        if first is not None and second is not None:
            scope.same.append((first, second))
            return
        part = constant(right if first is not None else left)
        column = first if first is not None else second
        if column is not None and part is not None:
            self._bind(scope, column, part)
        else:
            self._compare(left, "=", right, frame, scope)

    def _one_of(self, condition: exp.In, frame: Frame, scope: Scope) -> None:
        if len(condition.expressions) == 1:  # otherwise the items differ in more than their values
            self.rows(condition.this, condition.expressions, frame, scope, in_list=True)
        else:
            self._unread(condition, frame, scope)

    def rows(
        self,
        left: exp.Expr,
        items: list[exp.Expr],
        frame: Frame,
        scope: Scope,
        *,
        in_list: bool = False,
    ) -> None:
        """Add that columns equal the items of a list of values or rows."""
        number = self.new_list()
        columns = row_of(left)
        if len(items) == 1 and len(columns) > 1:
            items = row_of(items[0])
        for left_item, item in zip(columns, items, strict=False):
            column, part = self.column(left_item, frame, scope), constant(item)
            if part is not None:
                scope.not_null.append(part)
                if column is not None:
                    self._bind(scope, column, replace(part, in_list=in_list), number)
            elif column is not None and (other := self.column(item, frame, scope)) is not None:
                scope.same.append((column, other))
            else:
                self._unread(exp.EQ(this=left_item.copy(), expression=item.copy()), frame, scope)

    def column(self, node: exp.Expr, frame: Frame, scope: Scope) -> Column | None:
        """Return the column that a name stands for: of a table, or of a derived source.

        Args:
            node: the name.
            frame: the names that are visible there.
            scope: receives the constants that a column of a derived source stands for.
        """
        node = node.unnest()
        if isinstance(node, exp.Cast):
            return self._cast_column(node, frame, scope)
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return None
        name = folded(node.this)
        table = table_of(node)
        source = frame.find(table) if table else self._owner(name, frame)
        if source is None:
            return None
        return self.column_of(source, name, scope)

    def column_of(self, source: Source, name: str, scope: Scope) -> Column:
        """Return a column of a source; of a derived source, the column of the table behind it."""
        stands_for = source.projected.get(name)
        if source.inner is not None:
            through = stands_for
            if through is None and "*" in source.projected:
                through = exp.column(name, quoted=True)
            inner = None
            if through is not None:
                inner = self.column(through, source.inner, source.sealed or scope)
            if inner is not None and source.sealed is None:
                return inner
            if inner is not None and source.sealed is not None:
                derived = Derived((source, name), inner, source.sealed, source.partial)
                scope.derived.append(derived)
                return source, name
        part = constant(stands_for) if stands_for is not None else None
        if part is not None and stands_for is not None:
            number = source.rows if in_a_list(stands_for) else 0
            if not (number and source.partial):
                self._bind(scope, (source, name), part, number)
        return source, name

    def _cast_column(self, node: exp.Cast, frame: Frame, scope: Scope) -> Column | None:
        """Return a column inside a cast; None if the cast may equate different values."""
        column = self.column(node.this, frame, scope)
        if column is None:
            return None
        source, name = column
        cast = cast_to(node.to)
        if source.table is not None:
            return column if self._keys.keeps_values(source.table, name, cast) else None
        parts = [part for known, part in scope.equal if known == column]
        if not parts:
            return None
        column = source, f"{name}::{node.to.sql(DIALECT)}"
        for part in parts:
            scope.equal.append((column, replace(part, casts=(*part.casts, cast))))
        return column

    def _owner(self, column: str, frame: Frame | None) -> Source | None:
        """Return the source of a column that is named without a table."""
        while frame is not None:
            sources = list(frame.sources.values())
            having = [source for source in sources if self.has(source, column)]
            if len(having) == 1:
                return having[0]
            unknown = [source for source in sources if self.has(source, column) is None]
            if not having and len(unknown) == 1:
                return unknown[0]
            if having or unknown:
                return None
            frame = frame.outer
        return None

    def has(self, source: Source, column: str) -> bool | None:
        """Whether a source has a column; None: unknown."""
        if source.table is None:
            made_up = source.projected
            return column in made_up if made_up and "*" not in made_up else None
        definition = self._keys.definition(source.table)
        if definition is None or not definition.columns:
            return None
        return column in definition.columns

    def _bind(self, scope: Scope, column: Column, part: KeyPart, number: int = 0) -> None:
        if number and part.slot is not None:  # a constant of the template is in each row
            part = replace(part, rows=number)
        scope.equal.append((column, part))

    def _not_null(self, scope: Scope, *sides: exp.Expr) -> None:
        for side in sides:
            node = bare(side)
            if isinstance(node, exp.Null):
                scope.never = True
            part = constant(node)
            if part is not None and part.slot is not None:
                scope.not_null.append(part)


def _is_all(node: exp.Expr) -> bool:
    """Whether the node is `ALL(…)`, which the parser takes for a function."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "all"


def _is_not_null(condition: exp.Expr) -> bool:
    """Whether the node is `IS NOT NULL`, which holds for anything equal to a constant."""
    return isinstance(condition, exp.Is) and bool(condition.args.get("negate"))
