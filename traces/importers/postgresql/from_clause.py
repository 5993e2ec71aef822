"""Reads the sources of a statement: the items of FROM and the queries of WITH."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

from sqlglot import exp

from traces.importers.postgresql.accesses import FUNCTION
from traces.importers.postgresql.bindings import Bindings
from traces.importers.postgresql.catalog import View
from traces.importers.postgresql.names import Names, of_the_system
from traces.importers.postgresql.scopes import Common, Frame, Scope, Source
from traces.importers.postgresql.syntax import (
    alias_of,
    column_names,
    first_row,
    folded,
    is_list_of_rows,
    is_partial,
    is_sealed,
    projections,
    unnested,
)
from traces.importers.postgresql.table_keys import TableKeys


class Reader(Protocol):
    """Reads the content of an item of FROM."""

    def statement(
        self, tree: exp.Expr, outer: Frame | None = None, scope: Scope | None = None
    ) -> Frame:
        """Read a query."""

    def conditions(self, condition: exp.Expr | None, frame: Frame, scope: Scope) -> None:
        """Read conditions that the rows of a scope fulfil."""

    def call(self, function: exp.Anonymous, schema: exp.Expr | None) -> None:
        """Read the call of a function."""

    def say(self, reason: str) -> None:
        """Report that something is left out or guessed."""


class FromClause:
    """Reads items of FROM and queries of WITH into the frames of a statement.

    Args:
        keys: the keys of the tables.
        names: resolves names of tables.
        bindings: the bindings of the statement.
        reader: the reader of the statement.

    Attributes:
        tables: the sources of the statement that are tables, in the order of occurrence.
    """

    def __init__(self, keys: TableKeys, names: Names, bindings: Bindings, reader: Reader) -> None:
        self._keys = keys
        self._names = names
        self._bindings = bindings
        self._reader = reader
        self.tables: list[Source] = []

    def common_tables(self, tree: exp.Expr, frame: Frame) -> None:
        """Add the queries of WITH to the frame of a statement."""
        with_: exp.Expr | None = tree.args.get("with_")
        if with_ is None:
            return
        recursive = bool(with_.args.get("recursive"))
        for common in with_.expressions:
            name = alias_of(common)
            named = [
                table
                for table in tree.find_all(exp.Table)
                if isinstance(table.this, exp.Identifier) and folded(table.this) == name
            ]
            kept = recursive or common.args.get("materialized") or is_sealed(common.this)
            if len(named) == 1 and not kept:
                # It is executed as a part of the only query that names it.
                frame.made_up[name] = Common(common, frame.so_far())
                continue
            alone = Scope()
            made_up = Source(None, of_with=True, sealed=alone, partial=is_partial(common.this))
            made_up.rows = self._bindings.new_list()
            made_up.listed = is_list_of_rows(common.this)
            if recursive:
                frame.made_up[name] = made_up
            made_up.inner = self._reader.statement(common.this, frame, alone)
            made_up.projected = projections(common.this, column_names(common))
            frame.made_up[name] = made_up

    def items(
        self, first: exp.Expr | None, joins: Sequence[exp.Join], frame: Frame, scope: Scope
    ) -> None:
        """Add the items of FROM, each a chain of joins."""
        item: exp.Expr | None = first.this if isinstance(first, exp.From) else first
        chain: list[exp.Join] = []
        for join in joins:
            if _is_comma(join):
                if item is not None:
                    self._chain(item, chain, frame, scope)
                item, chain = join.this, []
            else:
                chain.append(join)
        if item is not None:
            self._chain(item, chain, frame, scope)

    def add(self, node: exp.Expr, frame: Frame, scope: Scope) -> list[Source]:
        """Add a source to a frame, with those that are joined to it in parentheses."""
        alone = isinstance(node, exp.Subquery) and not node.args.get("alias")
        if alone and isinstance(node.this, exp.Table):
            return self.add(node.this, frame, scope)
        return self._chain(node, node.args.get("joins") or (), frame, scope)

    def queried(self, query: exp.Expr, node: exp.Expr, frame: Frame, scope: Scope) -> Source:
        """Add the rows of a subquery, which `node` names."""
        whole = node if isinstance(node, exp.Subquery) else query
        sealed = scope.within() if is_sealed(whole) else None
        source = Source(None, scope=scope, sealed=sealed, partial=is_partial(whole))
        source.rows = self._bindings.new_list()
        source.listed = is_list_of_rows(query.unnest())
        source.inner = self._reader.statement(query, frame, sealed or scope)
        source.projected = projections(query.unnest(), column_names(node))
        return source

    def table(self, node: exp.Table, scope: Scope, kind: str) -> Source:
        """Add a table, or the tables behind a view."""
        name = self.resolved(node)
        view = self._keys.catalog.views.get(name)
        if view is None:
            source = Source(name, kind, scope)
            if not self.is_of_the_system(name):
                self.tables.append(source)
            return source
        if not view.calls.isdisjoint(self._keys.catalog.functions_of_tables):
            self._reader.say(FUNCTION)
        source = Source(None, kind, scope, simple=is_simple(view), view=name)
        source.sealed = scope.within() if is_sealed(view.query) else None
        source.partial = is_partial(view.query)
        source.inner = self._reader.statement(view.query, None, source.sealed or scope)
        source.projected = columns_of(view)
        return source

    def resolved(self, node: exp.Table) -> str:
        """Return the full name of a table; of a partition, that of its root."""
        name, guess = self._names.resolve(node)
        if guess is not None:
            self._reader.say(guess)
        return self._keys.catalog.root(name)

    def is_of_the_system(self, name: str) -> bool:
        """Whether a table is one of PostgreSQL's catalogs."""
        return of_the_system(name) and self._keys.definition(name) is None

    def _chain(
        self, first: exp.Expr, joins: Sequence[exp.Join], frame: Frame, scope: Scope
    ) -> list[Source]:
        """Add a chain of joins, each of which joins all before it; return its sources."""
        if not joins:
            source = self._source(first, frame, scope, "read")
            frame.sources[alias_of(first) or f" {len(frame.sources)}"] = source
            return [source]
        *before, join = joins
        # The condition of ON holds for a side's rows, unless the join keeps all of them.
        keeps_left, keeps_right = join.side in ("LEFT", "FULL"), join.side in ("RIGHT", "FULL")
        if alias_of(join.this) in frame.required:
            keeps_left = False
        if any(
            alias_of(joined) in frame.required
            for joined in (first, *(joined.this for joined in before))
        ):
            keeps_right = False
        on = scope.within() if keeps_left or keeps_right else scope
        kept = scope.within() if keeps_left and keeps_right else scope
        sources = self._chain(first, before, frame, kept if keeps_left else on)
        added = self.add(join.this, frame, kept if keeps_right else on)
        self._reader.conditions(join.args.get("on"), frame, on)
        for column in join.args.get("using") or ():
            name = folded(column)
            self._same(name, [*sources, *added], on)
        return [*sources, *added]

    def _same(self, column: str, sources: Iterable[Source], scope: Scope) -> None:
        """Add `USING (column)`: the sources with this column have equal values in it."""
        having = [
            self._bindings.column_of(source, column, scope)
            for source in sources
            if self._bindings.has(source, column) is not False
        ]
        scope.same += pairwise(having)

    def _source(self, node: exp.Expr, frame: Frame, scope: Scope, kind: str) -> Source:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            made_up = frame.made_up.get(folded(node.this))
            if made_up is None or node.args.get("db"):
                return self.table(node, scope, kind)
            if isinstance(made_up, Source):
                return replace(made_up, scope=scope)
            source = self.queried(made_up.query.this, made_up.query, made_up.frame, scope)
            source.of_with = True
            return source
        if isinstance(node, (exp.Subquery, exp.Lateral)) and isinstance(
            node.this, exp.Query | exp.Table
        ):
            return self.queried(node.this, node, frame, scope)
        source = Source(None, scope=scope, rows=self._bindings.new_list())
        if isinstance(node, exp.Values):
            source.listed, source.partial = True, is_partial(node)
            source.projected = first_row(node, column_names(node))
        elif isinstance(node, exp.Unnest):
            source.listed, source.projected = True, unnested(node)
        elif isinstance(node.this, exp.Anonymous):
            self._reader.call(node.this, node.args.get("db"))
        return source


def is_simple(view: View) -> bool:
    """Whether rows written to a view are rows of its only table."""
    query = view.query
    others = ("with_", "joins", "group", "having", "distinct", "limit", "offset", "laterals")
    from_ = query.args.get("from_")
    return (
        isinstance(query, exp.Select)
        and not any(query.args.get(argument) for argument in others)
        and from_ is not None
        and isinstance(from_.this, exp.Table)
        and not from_.this.args.get("joins")
    )


def columns_of(view: View) -> dict[str, exp.Expr]:
    """Return the expressions behind the columns of a view, by name."""
    return projections(view.query, list(view.columns))


def _is_comma(join: exp.Join) -> bool:
    """Whether an item of FROM follows a comma."""
    return not any(join.args.get(key) for key in ("on", "using", "side", "kind", "method"))
