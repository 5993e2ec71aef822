"""Sources of a statement, and the scopes in which its conditions hold.

A condition of a query holds for the rows of the query, and not for those of the query around it;
one of an outer join holds for the rows of the side that is filled up, and not for the side that
is kept. So conditions are facts of a scope. What reads a source fulfils the facts of the source's
scope and of the scopes above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from traces.importers.postgresql.accesses import Access, Comparison, KeyPart, Limit


@dataclass(eq=False)
class Source:
    """Something a statement takes rows from: a table, or what a query makes up.

    Attributes:
        table: its name; None for what is made up.
        kind: of access, of a table.
        scope: whose facts its rows fulfil.
        projected: of what is made up, what its columns stand for.
        inner: of what is made up, the sources those are of.
        sealed: of what is made up, the scope of its query, where conditions on its columns are
            none on the rows that the query reads; None: they are.
        partial: of what is made up, whether some of its rows are left out, as by LIMIT.
        rows: of what is made up, the number of its list of rows.
        listed: of what is made up, whether it is a list of rows and nothing else.
        of_with: whether it is a query of WITH.
        inserted: the accesses of an insert.
        locked: whether its rows are locked to be written (FOR UPDATE).
        limits: how many of them are locked.
        assigned: the columns of the table that are given values, with the values.
        made_as: the kind of access that a MERGE makes; None: `kind`.
        deletes: whether a MERGE may delete its rows.
        added: the rows that a MERGE inserts.
        sets: the columns that an upsert sets in the row that is there.
        simple: of a view, whether it can be written to.
        view: its name, of a view.
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
    """A query of WITH that is run where it is named.

    Attributes:
        query: with its name.
        frame: what names in it mean.
    """

    query: exp.CTE
    frame: Frame


class Assigned(NamedTuple):
    """A column that is given a value.

    Attributes:
        column: its name.
        value: which.
        other: the column that the value is; None: it is no column.
    """

    column: str
    value: exp.Expr
    other: tuple[Source, str] | None


class Added(NamedTuple):
    """A row that is inserted where none matches.

    Attributes:
        given: the values of its columns.
        scope: of the rows that it is made of.
    """

    given: list[Assigned]
    scope: Scope


class Frame:
    """The sources that one query names, within the query around it.

    Attributes:
        sources: by the names they have here.
        made_up: the queries of WITH that can be named here.
        limits: how many of the query's rows pass.
        required: names of sources of which the query's rows have a row, whatever the join.
    """

    def __init__(self, outer: Frame | None = None) -> None:
        self.outer = outer
        self.sources: dict[str, Source] = {}
        self.made_up: dict[str, Source | Common] = dict(outer.made_up) if outer else {}
        self.required: frozenset[str] = frozenset()
        self.limits: tuple[Limit, ...] = ()

    def so_far(self) -> Frame:
        """What names mean to a query of WITH: those after it are not known to it."""
        known = Frame(self.outer)
        known.made_up = dict(self.made_up)
        return known

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


class Derived(NamedTuple):
    """A column that has values of a column of another scope.

    Attributes:
        column: which.
        of: the other column.
        scope: of the other column.
        partial: whether some of the values are left out, as by LIMIT.
    """

    column: Column
    of: Column
    scope: Scope
    partial: bool


class Scope:
    """Facts about columns that hold together.

    Attributes:
        above: the scope whose facts hold here, too.
        same: columns that are equal.
        equal: columns that are equal to constants.
        compared: columns that are less or greater than constants, or other than them.
        tests: constants that are compared with constants.
        unread: the columns of each condition that is not understood.
        derived: columns that have the values of a column of another scope.
        not_null: constants of conditions that hold for no row if these are NULL.
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
        """A scope in which more is known."""
        return Scope(self)


class Facts:
    """What is known in one scope about columns.

    Args:
        scope: which.
        solved: the facts that are known already, by their scopes.
        below: take in what comes of other scopes only below this one.
    """

    def __init__(self, scope: Scope, solved: Solved, below: Scope | None = None) -> None:
        scopes = list(_upwards(scope))
        self._same: dict[Column, Column] = {}
        self._equal: dict[Column, list[KeyPart]] = {}
        self._compared: dict[Column, list[Comparison]] = {}
        self._columns: set[Column] = set()
        self.never = any(one.never for one in scopes)
        self.tests = tuple(dict.fromkeys(pair for one in scopes for pair in one.tests))
        self._unread = [columns for one in scopes for columns in one.unread]
        self.not_null = tuple(dict.fromkeys(part for one in scopes for part in one.not_null))
        for one in scopes:
            for pair in one.same:
                self._unite(*pair)
        for one in scopes:
            for column, part in one.equal:
                self._bind(column, part)
            for column, comparison in one.compared:
                self._columns.add(column)
                self._compared.setdefault(self._root(column), []).append(comparison)
        for one in scopes[: scopes.index(below) if below in scopes else None]:
            for column, of, origin, partial in one.derived:
                for part in facts_of(origin, solved, one).constants(of):
                    if not (partial and part.rows):
                        self._bind(column, part)

    def constants(self, column: Column) -> tuple[KeyPart, ...]:
        """The constants that a column is equal to: all of them at once."""
        return tuple(self._equal.get(self._root(column), ()))

    def bound_columns(self, source: Source) -> dict[str, tuple[KeyPart, ...]]:
        """The columns of a source that are equal to constants."""
        names = sorted(name for owner, name in self._columns if owner is source)
        found = {name: self.constants((source, name)) for name in names}
        return {name: parts for name, parts in found.items() if parts}

    def compared(self, column: Column) -> tuple[Comparison, ...]:
        """What else is known of a column."""
        return tuple(self._compared.get(self._root(column), ()))

    def tested(self) -> Iterator[tuple[Column, ...]]:
        """The columns of which more than one thing is known: those that are equal together."""
        together: dict[Column, list[Column]] = {}
        for column in self._columns:
            together.setdefault(self._root(column), []).append(column)
        for root, columns in together.items():
            if len(self._equal.get(root, ())) + len(self._compared.get(root, ())) > 1:
                yield tuple(columns)

    def lowest(self, column: Column) -> KeyPart | None:
        """What a column is no less than."""
        parts = (one.part for one in self.compared(column) if one.operator in (">", ">="))
        return next(parts, None)

    def lowest_of(self, source: Source) -> Iterator[KeyPart]:
        """What any column of a source is no less than."""
        for column in self._compared:
            part = self.lowest(column) if column[0] is source else None
            if part is not None:
                yield part

    def has_unread(self, key: Collection[Column]) -> bool:
        """Whether a condition is not understood that is only on these columns, or on none."""
        roots = {self._root(column) for column in key}
        return any(all(self._root(one) in roots for one in columns) for columns in self._unread)

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
"""Facts by their scopes."""


def facts_of(scope: Scope, solved: Solved, below: Scope | None = None) -> Facts:
    """The facts of a scope, found out once; the arguments are those of `Facts`."""
    known = solved.get((scope, below))
    if known is None:
        known = solved[scope, below] = Facts(scope, solved, below)
    return known


def _upwards(scope: Scope) -> Iterator[Scope]:
    above: Scope | None = scope
    while above is not None:
        yield above
        above = above.above
