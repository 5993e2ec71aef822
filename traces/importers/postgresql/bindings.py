"""What the conditions of a statement say about columns: which are equal, to what, from where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from traces.importers.postgresql.accesses import Access, KeyPart
from traces.importers.postgresql.syntax import (
    array,
    bare,
    constant,
    flattened,
    folded,
    single_column,
)
from traces.importers.postgresql.table_keys import TableKeys


@dataclass(eq=False)
class Source:
    """Something a statement takes rows from: a table, or what a query makes up.

    Attributes:
        table: its name; None for what is made up.
        kind: of access, of a table.
        projected: of what is made up, what its columns stand for.
        inner: of what is made up, the sources those are of.
        inserted: of the target of an insert, the access.
        locked: whether its rows are locked to be written (FOR UPDATE).
        moved: the values that an update gives to columns of the key.
        made_as: the kind of access that a MERGE makes; None: `kind`.
        simple: of a view, whether it can be written to.
    """

    table: str | None
    kind: str = "read"
    projected: dict[str, exp.Expr] = field(default_factory=dict)
    inner: Frame | None = None
    inserted: Access | None = None
    locked: bool = False
    moved: dict[str, KeyPart] = field(default_factory=dict)
    made_as: str | None = None
    simple: bool = False


class Frame:
    """The sources that one query names, within the query around it.

    Attributes:
        sources: by the names they have here.
        made_up: the queries of WITH that can be named here.
    """

    def __init__(self, outer: Frame | None = None) -> None:
        self.outer = outer
        self.sources: dict[str, Source] = {}
        self.made_up: dict[str, Source] = dict(outer.made_up) if outer else {}

    def find(self, alias: str) -> Source | None:
        """The source that a name stands for here."""
        frame: Frame | None = self
        while frame is not None:
            if alias in frame.sources:
                return frame.sources[alias]
            frame = frame.outer
        return None


Column = tuple[Source, str]
"""A column of a source."""


class Bindings:
    """What is known about the columns of one statement.

    Args:
        keys: of the tables, whose columns tell what a name without a table means.
    """

    def __init__(self, keys: TableKeys) -> None:
        self._keys = keys
        self._same: dict[Column, Column] = {}
        self._equal: dict[Column, KeyPart] = {}
        self._from: dict[Column, KeyPart] = {}
        self._rows: dict[Column, int] = {}

    def conditions(self, condition: exp.Expr | None, frame: Frame) -> None:
        """Learn from what a query's rows have to fulfil."""
        if condition is None:
            return
        for one in flattened(condition):
            self._condition(one, frame)

    def _condition(self, one: exp.Expr, frame: Frame) -> None:
        if isinstance(one, exp.EQ):
            self._equality(one.this, one.expression, frame)
        elif isinstance(one, exp.In):
            self._one_of(one, frame)
        elif isinstance(one, exp.Between):
            self._low(one.this, one.args["low"], frame)
        elif isinstance(one, (exp.GT, exp.GTE)):
            self._low(one.this, one.expression, frame)
        elif isinstance(one, (exp.LT, exp.LTE)):
            self._low(one.expression, one.this, frame)

    def _equality(self, left: exp.Expr, right: exp.Expr, frame: Frame) -> None:
        left, right = left.unnest(), right.unnest()
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            for one, other in zip(left.expressions, right.expressions, strict=False):
                self._equality(one, other, frame)
            return
        if isinstance(left, exp.Any):
            left, right = right, left
        first = self._column(left, frame)
        if isinstance(right, exp.Any):
            part = array(right)
            if first is not None and part is not None:
                self._bind(first, part)
            return
        second = self._column(right, frame)
        if first is not None and second is not None:
            self.unite(first, second)
        elif first is not None or second is not None:
            part = constant(right if first is not None else left)
            column = first if first is not None else second
            if part is not None and column is not None:
                self._bind(column, part)

    def _one_of(self, one: exp.In, frame: Frame) -> None:
        query = one.args.get("query")
        if query is not None:
            made_up = single_column(query)
            if made_up is not None:
                self._equality(one.this, made_up, frame)
            return
        if len(one.expressions) != 1:
            return  # values that differ in more than the value
        item = one.expressions[0]
        if isinstance(one.this, exp.Tuple) and isinstance(item, exp.Tuple):
            for left, right in zip(one.this.expressions, item.expressions, strict=False):
                column, part = self._column(left, frame), constant(right)
                if column is not None and part is not None:
                    self._bind(column, part)
                    self._rows[self._root(column)] = id(one)
            return
        self._equality(one.this, item, frame)

    def _low(self, left: exp.Expr, right: exp.Expr, frame: Frame) -> None:
        column, part = self._column(left, frame), constant(right)
        if column is not None and part is not None:
            self._from.setdefault(self._root(column), part)

    def _column(self, node: exp.Expr, frame: Frame) -> Column | None:
        node = bare(node)
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return None
        name = folded(node.this)
        source = frame.find(node.table.lower()) if node.table else self._owner(name, frame)
        if source is None:
            return None
        if source.inner is not None:
            stands_for = source.projected.get(name)
            if stands_for is None and "*" in source.projected:
                stands_for = exp.column(name, quoted=True)
            inner = self._column(stands_for, source.inner) if stands_for is not None else None
            if inner is not None:
                return inner
        part = constant(source.projected[name]) if name in source.projected else None
        if part is not None:
            self._bind((source, name), part)
        return source, name

    def _owner(self, column: str, frame: Frame | None) -> Source | None:
        """Whose a column is that is named without a table."""
        while frame is not None:
            sources = list(frame.sources.values())
            having = [source for source in sources if self._has(source, column)]
            if len(having) == 1:
                return having[0]
            unknown = [source for source in sources if self._has(source, column) is None]
            if not having and len(unknown) == 1:
                return unknown[0]
            if having or unknown:
                return None
            frame = frame.outer
        return None

    def _has(self, source: Source, column: str) -> bool | None:
        """Whether a source has a column; None: not known."""
        if source.table is None:
            made_up = source.projected
            return column in made_up if made_up and "*" not in made_up else None
        definition = self._keys.definition(source.table)
        if definition is None or not definition.columns:
            return None
        return column in definition.columns

    def _root(self, column: Column) -> Column:
        while column in self._same:
            column = self._same[column]
        return column

    def unite(self, one: Column, other: Column) -> None:
        """Learn that two columns are equal."""
        one, other = self._root(one), self._root(other)
        if one == other:
            return
        self._same[one] = other
        for known in (self._equal, self._from):
            if one in known:
                known.setdefault(other, known[one])
        if one in self._rows:
            self._rows.setdefault(other, self._rows[one])

    def _bind(self, column: Column, part: KeyPart) -> None:
        self._equal.setdefault(self._root(column), part)

    def bound_columns(self, source: Source) -> dict[str, KeyPart]:
        """The columns of a source that are equal to constants."""
        columns = {column for column in {*self._equal, *self._same} if column[0] is source}
        return {
            column[1]: self._equal[root]
            for column in sorted(columns, key=lambda column: column[1])
            if (root := self._root(column)) in self._equal
        }

    def by_row(self, source: Source, columns: Iterable[str]) -> bool:
        """Whether the n-th values of all these columns belong together."""
        lists = {self._rows.get(self._root((source, column))) for column in columns}
        return len(lists) == 1 and None not in lists

    def first_of_range(
        self, source: Source, wanted: tuple[str, ...], bound: dict[str, KeyPart]
    ) -> tuple[KeyPart, ...]:
        """The start of the key of what is scanned, as far as it is known.

        Args:
            source: whose rows.
            wanted: the columns of the key; empty: not known.
            bound: the columns that are equal to constants.
        """
        table = source.table or ""
        key: list[KeyPart] = []
        for column in wanted:
            part = bound.get(column) or self._from.get(self._root((source, column)))
            if part is None:
                return tuple(key)
            key.append(self._keys.formed(table, column, part))
            if column not in bound:
                return tuple(key)
        ranges = [part for (owner, _), part in self._from.items() if owner is source and not wanted]
        return (*key, *ranges[:1])
