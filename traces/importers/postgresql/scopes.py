"""Sources of a statement, and the scopes of its conditions.

A condition of a query holds for the rows of the query, but not for those of an outer query. The
condition of an outer join holds for the optional side, but not for the side that is kept. Therefore
conditions are facts of a scope, and a read of a source fulfils the facts of its scope and of the
scopes above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from traces.importers.postgresql.accesses import Access, Comparison, KeyPart, Limit


@dataclass(eq=False)
class Source:
    """A source of rows: a table, or a derived source such as a subquery.

    Attributes:
        table: the name of a table; None for a derived source.
        kind: the kind of access to a table.
        scope: the scope whose facts its rows fulfil.
        projected: the expressions behind the columns of a derived source.
        inner: the sources of these expressions.
        sealed: the scope of a derived source's query, if conditions on its columns do not restrict
            the rows that the query reads; None: they do.
        partial: whether a derived source omits some of its rows, for example by LIMIT.
        rows: the number of the list of rows of a derived source.
        listed: whether a derived source is only a list of rows.
        of_with: whether it is a query of WITH.
        inserted: the accesses of an insertion.
        locked: whether its rows are locked for writing (FOR UPDATE).
        limits: the limits of the number of locked rows.
        assigned: the columns of the table that are assigned, with the values.
        made_as: the kind of access of a MERGE; None: `kind`.
        deletes: whether a MERGE may delete its rows.
        added: the rows that a MERGE inserts.
        sets: the columns that an upsert sets in the existing row.
        simple: whether a view is updatable.
        view: the name of a view.
    """

    table: str | None
    kind: str = "read"
    scope: Scope = field(default_factory=lambda: Scope())
    projected: dict[str, exp.Expr] = field(default_factory=dict)
    inner: Frame | None = None
    sealed: Scope | None = None
    partial: bool = False
    rows: int = 0
    listed: bool = False
    of_with: bool = False
    inserted: tuple[Access, ...] = ()
    locked: bool = False
    limits: tuple[Limit, ...] = ()
    assigned: list[Assigned] = field(default_factory=list)
    made_as: str | None = None
    deletes: bool = False
    added: list[Added] = field(default_factory=list)
    sets: tuple[str, ...] = ()
    simple: bool = False
    view: str = ""


class Common(NamedTuple):
    """A query of WITH that is executed where it is named.

    Attributes:
        query: the query, with its name.
        frame: the names that are visible in it.
    """

    query: exp.CTE
    frame: Frame


class Assigned(NamedTuple):
    """A column that is assigned a value.

    Attributes:
        column: its name.
        value: the value.
        other: the column that is the value; None: it is not a column.
    """

    column: str
    value: exp.Expr
    other: tuple[Source, str] | None


class Added(NamedTuple):
    """A row that is inserted if none matches.

    Attributes:
        given: the values of its columns.
        scope: the scope of the rows that provide the values.
    """

    given: list[Assigned]
    scope: Scope


class Frame:
    """The sources that a query can name, within the outer query.

    Attributes:
        sources: the sources, by their names.
        made_up: the visible queries of WITH.
        limits: the limits of the number of the query's rows.
        required: names of sources with a row for each row of the query, despite outer joins.
    """

    def __init__(self, outer: Frame | None = None) -> None:
        self.outer = outer
        self.sources: dict[str, Source] = {}
        self.made_up: dict[str, Source | Common] = dict(outer.made_up) if outer else {}
        self.required: frozenset[str] = frozenset()
        self.limits: tuple[Limit, ...] = ()

    def so_far(self) -> Frame:
        """Return a copy for a query of WITH, which can't see later ones."""
        known = Frame(self.outer)
        known.made_up = dict(self.made_up)
        return known

    def find(self, alias: str) -> Source | None:
        """Return the source of a name."""
        frame: Frame | None = self
        while frame is not None:
            if alias in frame.sources:
                return frame.sources[alias]
            frame = frame.outer
        return None


Column = tuple[Source, str]
"""A column of a source."""


class Derived(NamedTuple):
    """A column with values of a column of another scope.

    Attributes:
        column: the column.
        of: the other column.
        scope: the scope of the other column.
        partial: whether some of the values are omitted, for example by LIMIT.
    """

    column: Column
    of: Column
    scope: Scope
    partial: bool


class Scope:
    """Facts about columns that hold together.

    Attributes:
        above: the outer scope, whose facts hold too.
        same: pairs of equal columns.
        equal: columns that equal constants.
        compared: columns that are compared with constants otherwise.
        tests: comparisons between constants.
        unread: the columns of each condition that can't be interpreted.
        derived: columns with the values of a column of another scope.
        not_null: constants of conditions that hold for no row if they are NULL.
        never: whether no row fulfils the conditions.
    """

    def __init__(self, above: Scope | None = None) -> None:
        self.above = above
        self.same: list[tuple[Column, Column]] = []
        self.equal: list[tuple[Column, KeyPart]] = []
        self.compared: list[tuple[Column, Comparison]] = []
        self.tests: list[tuple[KeyPart, Comparison]] = []
        self.unread: list[tuple[Column, ...]] = []
        self.derived: list[Derived] = []
        self.not_null: list[KeyPart] = []
        self.never = False

    def within(self) -> Scope:
        """Return an inner scope for further facts."""
        return Scope(self)


class Facts:
    """The facts about columns that hold in a scope.

    Args:
        scope: the scope.
        solved: the facts that are already known, by scope.
        below: use facts derived from other scopes only below this one.
    """

    def __init__(self, scope: Scope, solved: Solved, below: Scope | None = None) -> None:
        scopes = list(_upwards(scope))
        self._same: dict[Column, Column] = {}
        self._equal: dict[Column, list[KeyPart]] = {}
        self._compared: dict[Column, list[Comparison]] = {}
        self._columns: set[Column] = set()
        self.never = any(outer.never for outer in scopes)
        self.tests = tuple(dict.fromkeys(pair for outer in scopes for pair in outer.tests))
        self._unread = [columns for outer in scopes for columns in outer.unread]
        self.not_null = tuple(dict.fromkeys(part for outer in scopes for part in outer.not_null))
        for outer in scopes:
            for pair in outer.same:
                self._unite(*pair)
        for outer in scopes:
            for column, part in outer.equal:
                self._bind(column, part)
            for column, comparison in outer.compared:
                self._columns.add(column)
                self._compared.setdefault(self._root(column), []).append(comparison)
        for outer in scopes[: scopes.index(below) if below in scopes else None]:
            for column, of, origin, partial in outer.derived:
                for part in facts_of(origin, solved, outer).constants(of):
                    if not (partial and part.rows):
                        self._bind(column, part)

    def constants(self, column: Column) -> tuple[KeyPart, ...]:
        """Return the constants that a column equals, all of them."""
        return tuple(self._equal.get(self._root(column), ()))

    def bound_columns(self, source: Source) -> dict[str, tuple[KeyPart, ...]]:
        """Return the columns of a source that equal constants."""
        names = sorted(name for owner, name in self._columns if owner is source)
        found = {name: self.constants((source, name)) for name in names}
        return {name: parts for name, parts in found.items() if parts}

    def compared(self, column: Column) -> tuple[Comparison, ...]:
        """Return the other comparisons of a column."""
        return tuple(self._compared.get(self._root(column), ()))

    def tested(self) -> Iterator[tuple[Column, ...]]:
        """Yield the columns with more than one fact; equal columns come together."""
        together: dict[Column, list[Column]] = {}
        for column in self._columns:
            together.setdefault(self._root(column), []).append(column)
        for root, columns in together.items():
            if len(self._equal.get(root, ())) + len(self._compared.get(root, ())) > 1:
                yield tuple(columns)

    def lowest(self, column: Column) -> KeyPart | None:
        """Return a lower bound of a column."""
        parts = (
            comparison.part
            for comparison in self.compared(column)
            if comparison.operator in (">", ">=")
        )
        return next(parts, None)

    def lowest_of(self, source: Source) -> Iterator[KeyPart]:
        """Yield a lower bound of each column of a source."""
        for column in self._compared:
            part = self.lowest(column) if column[0] is source else None
            if part is not None:
                yield part

    def has_unread(self, key: Collection[Column]) -> bool:
        """Whether a condition on only these columns, or on none, can't be interpreted."""
        roots = {self._root(column) for column in key}
        return any(all(self._root(other) in roots for other in columns) for columns in self._unread)

    def are_same(self, one: Column, other: Column) -> bool:
        """Whether two columns are equal."""
        return self._root(one) == self._root(other)

    def _root(self, column: Column) -> Column:
        while column in self._same:
            column = self._same[column]
        return column

    def _unite(self, one: Column, other: Column) -> None:
        self._columns |= {one, other}
        one, other = self._root(one), self._root(other)
        if one != other:
            self._same[one] = other

    def _bind(self, column: Column, part: KeyPart) -> None:
        self._columns.add(column)
        known = self._equal.setdefault(self._root(column), [])
        if part not in known:
            known.append(part)


Solved = dict[tuple[Scope, Scope | None], Facts]
"""Facts, by scope."""


def facts_of(scope: Scope, solved: Solved, below: Scope | None = None) -> Facts:
    """Return the facts of a scope, which are derived once; the arguments are those of `Facts`."""
    known = solved.get((scope, below))
    if known is None:
        known = solved[scope, below] = Facts(scope, solved, below)
    return known


def _upwards(scope: Scope) -> Iterator[Scope]:
    above: Scope | None = scope
    while above is not None:
        yield above
        above = above.above
