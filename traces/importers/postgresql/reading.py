"""Reads the accesses of a statement off its syntax tree: tables, keys and kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from traces.importers.postgresql.accesses import (
    DOES_NOTHING,
    FUNCTION,
    GUESSES,
    KEY_NOT_NAMED,
    NOT_PARSED,
    RULE,
    SKIPPED_ROWS,
    TRIGGER,
    VIEW_WRITTEN,
    Access,
    Accesses,
    Comparison,
    KeyPart,
    Limit,
)
from traces.importers.postgresql.advisory_locks import advisory_locks
from traces.importers.postgresql.bindings import Bindings
from traces.importers.postgresql.dialect import dialect_with
from traces.importers.postgresql.from_clause import FromClause, columns_of, is_simple
from traces.importers.postgresql.fulfilment import AT_MOST
from traces.importers.postgresql.inserting import Inserting, assignments
from traces.importers.postgresql.merging import clauses_of, inserted_values
from traces.importers.postgresql.names import Names
from traces.importers.postgresql.rows_touched import RowsTouched
from traces.importers.postgresql.scopes import Added, Assigned, Frame, Scope, Source
from traces.importers.postgresql.syntax import (
    DIALECT,
    alias_of,
    always_has_rows,
    flattened,
    folded,
    is_partial,
    limits_of,
    outermost_queries,
    queries_in_expressions,
    query_of_in,
    required_by,
    row_of,
    row_of_constants,
    table_of,
)
from traces.importers.postgresql.table_keys import TableKeys

_HARMLESS_FUNCTIONS = frozenset(
    {
        *("currval", "lastval", "nextval", "setval"),
        *("current_setting", "set_config", "version"),
        *("clock_timestamp", "statement_timestamp", "txid_current"),
        *("hashtext", "hashtextextended", "uuid_generate_v4", "to_regclass"),
    }
)
"""Functions that access no table and that the parser does not know."""


def accesses_of(sql: str, keys: TableKeys, names: Names | None = None) -> Accesses:
    """Return the accesses of a statement.

    Args:
        sql: the statement, with the numbers of slots in place of its literals, see
            `traces.importers.postgresql.shapes.Shape`.
        keys: the keys of the tables.
        names: resolves names of tables; None: along PostgreSQL's default search path.
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect_with(keys.catalog.functions_of_tables))
        if isinstance(tree, exp.Command):
            return Accesses(faults=(NOT_PARSED,))
        reading = _Reading(keys, names or Names(keys.catalog))
        reading.whole(tree)
        return reading.accesses()
    except (SqlglotError, RecursionError):
        return Accesses(faults=(NOT_PARSED,))


class _Reading:
    """A statement while it is read."""

    def __init__(self, keys: TableKeys, names: Names) -> None:
        self._keys = keys
        self._locks: list[Access] = []
        self._bindings = Bindings(keys)
        self._from = FromClause(keys, names, self._bindings, self)
        self._reasons: list[str] = []
        self._guessed: set[str] = set()

    def whole(self, tree: exp.Expr) -> None:
        """Read a statement, including the effects of its functions."""
        for lock in advisory_locks(tree):
            if isinstance(lock, Access):
                self._locks.append(lock)
            else:
                self.say(lock)
        functions = self._keys.catalog.functions_of_tables
        for function in tree.find_all(exp.Anonymous):
            if function.name.lower() in functions:
                self.say(FUNCTION)
        self.statement(tree)

    def statement(
        self, tree: exp.Expr, outer: Frame | None = None, scope: Scope | None = None
    ) -> Frame:
        """Read a query or a statement that changes rows.

        Args:
            tree: the statement.
            outer: the names that are visible around it.
            scope: the scope of its conditions; None: a new one.
        """
        frame = Frame(outer)
        scope = scope or Scope()
        self._from.common_tables(tree, frame)
        if isinstance(tree, exp.Select):
            self._select(tree, frame, scope)
        elif isinstance(tree, exp.SetOperation):
            self.statement(tree.this, frame, scope.within())
            self.statement(tree.expression, frame, scope.within())
        elif isinstance(tree, exp.Subquery):
            inner = self.statement(tree.this, frame, scope)
            inner.limits += self._limits(tree, scope)
            for lock in tree.args.get("locks") or ():
                self._lock(lock, inner)
            return inner
        elif isinstance(tree, exp.Insert):
            self._insert(tree, frame, scope)
        elif isinstance(tree, exp.Update):
            self._change(tree, frame, scope, "update", [tree.args.get("from_")])
        elif isinstance(tree, exp.Delete):
            self._change(tree, frame, scope, "delete", tree.args.get("using") or [])
        elif isinstance(tree, exp.Merge):
            self._merge(tree, frame, scope)
        elif isinstance(tree, (exp.Values, exp.Table)):
            self._from.add(tree, frame, scope)
        else:
            self.say(NOT_PARSED)
        return frame

    def accesses(self) -> Accesses:
        """Return what was found."""
        touched = RowsTouched(self._keys)
        made = [access for source in self._from.tables for access in touched.by(source)]
        reasons = dict.fromkeys([*self._reasons, *touched.reasons])
        return Accesses(
            (*self._locks, *made),
            tuple(reason for reason in reasons if reason not in GUESSES),
            tuple(reason for reason in reasons if reason in GUESSES),
            frozenset(self._guessed),
            frozenset(touched.reasons) - frozenset(self._reasons),
        )

    # The parts of a statement.

    def _select(self, tree: exp.Select, frame: Frame, scope: Scope) -> None:
        from_ = tree.args.get("from_")
        if from_ is None:
            self._functions(tree)
        frame.required = required_by(tree)
        frame.limits = self._limits(tree, scope)
        self._from.items(from_, tree.args.get("joins") or (), frame, scope)
        self._where(tree, frame, scope)
        self._nested(tree, frame, scope)
        for lock in tree.args.get("locks") or ():
            self._lock(lock, frame)

    def _limits(self, tree: exp.Expr, scope: Scope) -> tuple[Limit, ...]:
        """Return the limits of the number of rows; if none passes, none is accessed."""
        limits = limits_of(tree)
        none = Comparison(AT_MOST, KeyPart(None))
        scope.tests += [(limit.rows, none) for limit in limits if limit.rows is not None]
        return limits

    def _lock(self, lock: exp.Lock, frame: Frame) -> None:
        """Add a lock: `FOR UPDATE` excludes others as a write does, `FOR SHARE` as a read does."""
        if not lock.args.get("update"):
            return
        named = [alias_of(table) for table in lock.expressions]
        locked = [
            (source, frame.limits)
            for alias, source in frame.sources.items()
            if (alias in named or not named) and not source.of_with
        ]
        while locked:
            source, limits = locked.pop()
            source.locked, source.limits = True, limits
            if source.inner is not None:
                further = (*limits, *source.inner.limits)
                locked += [(inner, further) for inner in source.inner.sources.values()]
        if lock.args.get("wait") is False:
            self.say(SKIPPED_ROWS)

    def _where(self, tree: exp.Expr, frame: Frame, scope: Scope) -> None:
        where = tree.args.get("where")
        if where is not None:
            self.conditions(where.this, frame, scope)

    def conditions(self, condition: exp.Expr | None, frame: Frame, scope: Scope) -> None:
        """Add conditions that the rows of a scope fulfil, with the queries in them."""
        if condition is None:
            return
        for part in flattened(condition):
            if isinstance(part, exp.Exists) and _may_be_empty(part.this):
                self.statement(part.this, frame, scope)
            elif isinstance(part, exp.In) and (query := query_of_in(part)) is not None:
                self._in_query(part.this, query, frame, scope)
            else:
                self._bindings.condition(part, frame, scope)
                for query in outermost_queries(part):
                    self.statement(query, frame, scope.within())

    def _in_query(self, left: exp.Expr, query: exp.Expr, frame: Frame, scope: Scope) -> None:
        """Add `(a, b) IN (SELECT …)`: the columns equal those of some row of the query."""
        constants = row_of_constants(query)
        if constants is not None:
            self._bindings.rows(left, constants, frame, scope)
            self.statement(query, frame, scope.within())
            return
        select = query.unnest()
        if not isinstance(select, exp.Select) or select.is_star:
            self.statement(query, frame, scope.within())
            return
        source = self._from.queried(select, query, frame, scope)
        source.projected = {str(n): item.unalias() for n, item in enumerate(select.expressions)}
        for node, name in zip(row_of(left), source.projected, strict=False):
            column = self._bindings.column(node, frame, scope)
            if column is not None:
                scope.same.append((column, self._bindings.column_of(source, name, scope)))

    def _nested(self, tree: exp.Expr, frame: Frame, scope: Scope) -> None:
        """Read queries inside expressions; those in FROM, WHERE and WITH were read before."""
        for query in queries_in_expressions(tree):
            self.statement(query, frame, scope.within())

    def _insert(self, tree: exp.Insert, frame: Frame, scope: Scope) -> None:
        target = tree.this
        node = _named_table(target.this if isinstance(target, exp.Schema) else target)
        columns = [folded(c) for c in target.expressions] if isinstance(target, exp.Schema) else []
        name, columns, called = self._inserted_into(node, columns)
        inserting = Inserting(self._keys, name, called)
        source = Source(name, "insert")
        conflict = tree.args.get("conflict")
        rows = tree.expression
        values: dict[str, exp.Expr] | None = {}
        if rows is not None:  # None for DEFAULT VALUES
            values = self._values(columns or list(inserting.columns()), rows, frame, scope)
        if values is None:
            self.say(KEY_NOT_NAMED)
        else:
            source.inserted = (inserting.access(values, conflict),)
            source.sets = inserting.sets
            for reason in inserting.reasons:
                self.say(reason)
            if inserting.guessed:
                self._guessed.add(name)
        self._nested(tree, frame, scope)
        if not self._from.is_of_the_system(name) and name not in self._keys.catalog.instead:
            self._from.tables.append(source)

    def _inserted_into(
        self, node: exp.Table, columns: list[str]
    ) -> tuple[str, list[str], dict[str, str]]:
        """Return the table behind the target of an insertion, through views, and its columns.

        Returns:
            Its name, the columns that get values, and the table's columns behind the view's.
        """
        name = self._from.resolved(node)
        called: dict[str, str] = {}
        self._rules(name, "insert")
        while (view := self._keys.catalog.views.get(name)) is not None:
            if "insert" in self._keys.catalog.instead.get(name, ()):
                self._trigger(name)
                break
            if not is_simple(view):
                self.say(VIEW_WRITTEN)
                break
            below = {
                column: folded(projection.this) if isinstance(projection, exp.Column) else ""
                for column, projection in columns_of(view).items()
            }
            columns = [below.get(column, "") for column in columns or below]
            called = {top: below.get(at, "") for top, at in called.items()} if called else below
            name = self._from.resolved(view.query.args["from_"].this)
            self._rules(name, "insert")
        return name, columns, called

    def _values(
        self, columns: list[str], rows: exp.Expr, frame: Frame, scope: Scope
    ) -> dict[str, exp.Expr] | None:
        """Return the values of the new rows by column; None: they come from other rows."""
        if isinstance(rows, exp.Values):
            lists = [
                row.expressions if isinstance(row, exp.Tuple) else [row] for row in rows.expressions
            ]
            if len(lists) > 1:  # rows differ in more than their values
                self.say(KEY_NOT_NAMED)
            self._nested(rows, frame, scope)
            named = columns or [f"{n:05}" for n in range(len(lists[0]))]
            return dict(zip(named, lists[0], strict=False))
        inner = self.statement(rows, frame, scope)
        if not isinstance(rows, exp.Select) or rows.args.get("where") or is_partial(rows):
            return None
        given = _given(rows, inner)
        return dict(zip(columns, given, strict=False)) if given is not None else None

    def _change(
        self,
        tree: exp.Expr,
        frame: Frame,
        scope: Scope,
        kind: str,
        others: Iterable[exp.Expr | None],
    ) -> None:
        frame.required = required_by(tree)
        target = self._target(tree.this, frame, scope, kind)
        for other in others:
            if other is not None:
                from_ = other.this if isinstance(other, exp.From) else other
                self._from.items(from_, from_.args.get("joins") or (), frame, scope)
        self._from.items(None, tree.args.get("joins") or (), frame, scope)
        self._where(tree, frame, scope)
        self._nested(tree, frame, scope)
        self._assign(tree, frame, target)
        self._last(target)

    def _target(self, node: exp.Expr, frame: Frame, scope: Scope, *kinds: str) -> Source:
        """Return the table that is changed, through views.

        Args:
            node: its name.
            frame: the visible names.
            scope: the scope of the conditions on its rows.
            kinds: the operations, with that of the access first.
        """
        table = _named_table(node)
        source = self._from.table(table, scope, kinds[0])
        self._rules(source.table or source.view, *kinds)
        frame.sources[alias_of(table)] = source
        while source.table is None and source.inner is not None:
            instead = self._keys.catalog.instead.get(source.view, frozenset())
            inner = list(source.inner.sources.values())
            if not instead.isdisjoint(kinds):
                self._trigger(source.view)
                return source
            if len(inner) != 1 or not source.simple:
                self.say(VIEW_WRITTEN)
                return source
            (source,) = inner
            source.kind = kinds[0]
            self._rules(source.table or source.view, *kinds)
        return source

    def _trigger(self, table: str) -> None:
        if table in self._keys.catalog.triggers:
            self.say(TRIGGER)

    def _rules(self, table: str, *kinds: str) -> None:
        """Report rules of a table or a view that rewrite an operation."""
        if not self._keys.catalog.rules.get(table, frozenset()).isdisjoint(kinds):
            self.say(RULE)

    def _assigned(
        self, pairs: Iterable[tuple[str, exp.Expr]], frame: Frame, target: Source, scope: Scope
    ) -> list[Assigned]:
        """Return the assigned values of the target's columns; of a view, of the table behind it."""
        (named, *_) = frame.sources.values()
        found: list[Assigned] = []
        for column, value in pairs:
            owner, name = self._bindings.column_of(named, column, Scope())
            if owner is target:
                other = self._bindings.column(value, frame, scope)
                found.append(Assigned(name, value, other))
        return found

    def _assign(self, tree: exp.Expr, frame: Frame, target: Source) -> None:
        """Add the assignments of an update."""
        if isinstance(tree, exp.Update):
            pairs = [pair for item in tree.expressions for pair in assignments(item)]
            target.assigned += self._assigned(pairs, frame, target, target.scope)

    def _merge(self, tree: exp.Merge, frame: Frame, scope: Scope) -> None:
        clauses = clauses_of(tree)
        kind = clauses.kind()
        if kind == "insert":
            self.say(DOES_NOTHING)
        # The condition of ON does not hold for a side whose other rows are accessed, too.
        on = of_target = of_source = scope
        if clauses.inserts or clauses.to_others:
            on = scope.within()
            of_target = scope if clauses.to_others else on
            of_source = on if clauses.to_others else scope
        if clauses.inserts and clauses.to_others:
            of_source = scope.within()
        kinds = (kind, *sorted(clauses.kinds), *(["insert"] if clauses.inserts else []))
        target = self._target(tree.this, frame, of_target, *_updated_first(kinds))
        self._from.add(tree.args["using"], frame, of_source)
        self.conditions(tree.args.get("on"), frame, on)
        self._nested(tree, frame, scope)
        target.made_as = kind if target.table is not None else None
        target.deletes = "delete" in clauses.kinds
        for update in clauses.updates:
            self._assign(update, frame, target)
        definition = self._keys.definition(target.table or "")
        columns = definition.columns if definition is not None else ()
        for insert in clauses.inserts:
            values = inserted_values(insert, columns)
            given = self._assigned(values.items(), frame, target, of_source)
            target.added.append(Added(given, of_source))
        self._last(target)

    def _last(self, target: Source) -> None:
        """Move the target to the end, because a statement reads before it writes."""
        if target in self._from.tables:
            self._from.tables.remove(target)
            self._from.tables.append(target)

    def _functions(self, tree: exp.Select) -> None:
        """Report calls such as `SELECT f(1)`, because a function's statements are not logged."""
        for function in tree.find_all(exp.Anonymous):
            within = function.parent
            self.call(function, within.this if isinstance(within, exp.Dot) else None)

    def call(self, function: exp.Anonymous, schema: exp.Expr | None) -> None:
        """Report a call such as `f(1)`, because a function's statements are not logged."""
        name = function.name.lower()
        if schema is not None and schema.name.lower() == "pg_catalog":
            return
        if name in self._keys.catalog.functions:
            return  # `whole` handles it
        if not name.startswith("pg_") and name not in _HARMLESS_FUNCTIONS:
            self.say(FUNCTION)

    def say(self, reason: str) -> None:
        """Report the reason, of `accesses`, why something is left out or guessed."""
        self._reasons.append(reason)


def _updated_first(kinds: Sequence[str]) -> list[str]:
    """Order the operations of a MERGE; the row of an insertion is looked up as for an update."""
    return ["update" if kinds[0] == "insert" else kinds[0], *kinds[1:]]


def _may_be_empty(query: exp.Expr) -> bool:
    """Whether the query of EXISTS guarantees a row that fulfils its conditions."""
    return isinstance(query, exp.Select) and not always_has_rows(query)


def _given(rows: exp.Select, inner: Frame) -> list[exp.Expr] | None:
    """Return the columns of inserted rows of constants; None: they come from other rows."""
    given: list[exp.Expr] = rows.expressions
    if not inner.sources:
        return given
    (alias, source), *more = inner.sources.items()
    if more or not source.listed or source.partial:
        return None
    made_up = source.projected
    found: list[exp.Expr] = []
    for node in given:
        if node.is_star:
            if not made_up:
                return None
            found += made_up.values()
        elif isinstance(node, exp.Column) and table_of(node) in ("", alias):
            found.append(made_up.get(folded(node.this), node))
        else:
            found.append(node)
    return found


def _named_table(node: exp.Expr) -> exp.Table:
    if not isinstance(node, exp.Table):
        raise SqlglotError(f"{node.sql(DIALECT)} is not a table")
    return node
