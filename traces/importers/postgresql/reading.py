"""What a statement touches: tables, keys and kinds of access, read off its syntax tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from traces.importers.postgresql.accesses import (
    CASCADE,
    DOES_NOTHING,
    FUNCTION,
    GUESSES,
    KEY_NOT_NAMED,
    LOCK_NOT_NAMED,
    NO_DEFINITION,
    NOT_PARSED,
    SKIPPED_ROWS,
    TRIGGER,
    VIEW_WRITTEN,
    Access,
    Accesses,
)
from traces.importers.postgresql.advisory_locks import advisory_locks
from traces.importers.postgresql.bindings import Bindings, Frame, Source
from traces.importers.postgresql.catalog import View
from traces.importers.postgresql.inserting import Inserting, assignments
from traces.importers.postgresql.names import Names, of_the_system
from traces.importers.postgresql.syntax import (
    DIALECT,
    constant,
    first_row,
    folded,
    projections,
    queries_in_expressions,
    unnested,
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
"""Functions that touch no table and that the parser does not know."""


def accesses_of(sql: str, keys: TableKeys, names: Names | None = None) -> Accesses:
    """Read off what a statement touches.

    Args:
        sql: with the numbers of slots in place of its literals, see
            `traces.importers.postgresql.shapes.Shape`.
        keys: of the tables.
        names: what tables are called; None: along PostgreSQL's own search path.
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=DIALECT)
        if isinstance(tree, exp.Command):
            return Accesses(faults=(NOT_PARSED,))
        reading = _Reading(keys, names or Names(keys.catalog))
        reading.whole(tree)
        return reading.accesses()
    except (SqlglotError, RecursionError):
        return Accesses(faults=(NOT_PARSED,))


class _Reading:
    """One statement being read."""

    def __init__(self, keys: TableKeys, names: Names) -> None:
        self._keys = keys
        self._names = names
        self._locks: list[Access] = []
        self._sources: list[Source] = []
        self._bindings = Bindings(keys)
        self._reasons: list[str] = []
        self._guessed: set[str] = set()

    def whole(self, tree: exp.Expr) -> None:
        """Read a statement with what its functions do."""
        for one in advisory_locks(tree):
            if isinstance(one, Access):
                self._locks.append(one)
            else:
                self._say(one)
        functions = self._keys.catalog.functions
        for function in tree.find_all(exp.Anonymous):
            if functions.get(function.name.lower()):
                self._say(FUNCTION)
        self.statement(tree)

    def statement(self, tree: exp.Expr, outer: Frame | None = None) -> Frame:
        """Read a query or a statement that changes rows."""
        frame = Frame(outer)
        self._common_tables(tree, frame)
        if isinstance(tree, exp.Select):
            self._select(tree, frame)
        elif isinstance(tree, exp.SetOperation):
            self.statement(tree.this, frame)
            self.statement(tree.expression, frame)
        elif isinstance(tree, exp.Subquery):
            return self.statement(tree.this, frame)
        elif isinstance(tree, exp.Insert):
            self._insert(tree, frame)
        elif isinstance(tree, exp.Update):
            self._change(tree, frame, "update", [tree.args.get("from_")])
        elif isinstance(tree, exp.Delete):
            self._change(tree, frame, "delete", tree.args.get("using") or [])
        elif isinstance(tree, exp.Merge):
            self._merge(tree, frame)
        elif isinstance(tree, (exp.Values, exp.Table)):
            self._add(tree, frame, "read")
        else:
            self._say(NOT_PARSED)
        return frame

    def accesses(self) -> Accesses:
        """What was found."""
        made = [access for source in self._sources for access in self._made_by(source)]
        reasons = dict.fromkeys(self._reasons)
        return Accesses(
            (*self._locks, *made),
            tuple(reason for reason in reasons if reason not in GUESSES),
            tuple(reason for reason in reasons if reason in GUESSES),
            frozenset(self._guessed),
        )

    # What there is in a statement.

    def _common_tables(self, tree: exp.Expr, frame: Frame) -> None:
        with_: exp.Expr | None = tree.args.get("with_")
        if with_ is None:
            return
        for common in with_.expressions:
            made_up = Source(None)
            name = common.alias.lower()
            if with_.args.get("recursive"):
                frame.made_up[name] = made_up
            made_up.inner = self.statement(common.this, frame)
            made_up.projected = projections(common.this, common)
            frame.made_up[name] = made_up

    def _select(self, tree: exp.Select, frame: Frame) -> None:
        from_ = tree.args.get("from_")
        if from_ is not None:
            self._add(from_.this, frame, "read")
        else:
            self._functions(tree)
        self._joins(tree, frame)
        self._where(tree, frame)
        for lock in tree.args.get("locks") or ():
            self._lock(lock, frame)

    def _lock(self, lock: exp.Lock, frame: Frame) -> None:
        """`FOR UPDATE` keeps others from a row as a write does; `FOR SHARE` as a read does."""
        if not lock.args.get("update"):
            return
        named = [one.name.lower() for one in lock.expressions]
        of_with = set(map(id, frame.made_up.values()))
        locked = [
            source
            for alias, source in frame.sources.items()
            if (alias in named or not named) and id(source) not in of_with
        ]
        while locked:
            source = locked.pop()
            source.locked = True
            if source.inner is not None:
                locked += source.inner.sources.values()
        if lock.args.get("wait") is False:
            self._say(SKIPPED_ROWS)

    def _joins(self, tree: exp.Expr, frame: Frame) -> None:
        for join in tree.args.get("joins") or ():
            before = list(frame.sources.values())
            source = self._add(join.this, frame, "read")
            self._bindings.conditions(join.args.get("on"), frame)
            for column in join.args.get("using") or ():
                for other in before:
                    self._bindings.unite((other, folded(column)), (source, folded(column)))

    def _where(self, tree: exp.Expr, frame: Frame) -> None:
        where = tree.args.get("where")
        if where is not None:
            self._bindings.conditions(where.this, frame)
        self._nested(tree, frame)

    def _nested(self, tree: exp.Expr, frame: Frame) -> None:
        """Queries inside expressions; those in FROM and WITH were read already."""
        for query in queries_in_expressions(tree):
            self.statement(query, frame)

    def _insert(self, tree: exp.Insert, frame: Frame) -> None:
        target = tree.this
        node = _named_table(target.this if isinstance(target, exp.Schema) else target)
        columns = [folded(c) for c in target.expressions] if isinstance(target, exp.Schema) else []
        name, columns, called = self._inserted_into(node, columns)
        inserting = Inserting(self._keys, name, called)
        source = Source(name, "insert")
        conflict = tree.args.get("conflict")
        rows = tree.expression
        values: dict[str, exp.Expr] | None = {}
        if rows is not None:  # otherwise DEFAULT VALUES
            values = self._values(columns or list(inserting.columns()), rows, frame)
        if values is None:
            self._say(KEY_NOT_NAMED)
        else:
            source.inserted = inserting.access(values, conflict)
            for reason in inserting.reasons:
                self._say(reason)
            if inserting.guessed:
                self._guessed.add(name)
        self._nested(tree, frame)
        if not self._is_of_the_system(name):
            self._sources.append(source)

    def _inserted_into(
        self, node: exp.Table, columns: list[str]
    ) -> tuple[str, list[str], dict[str, str]]:
        """The table that rows are inserted into, through views, and its columns.

        Returns:
            Its name, the columns that get values, and what columns of the view are called there.
        """
        name = self._resolved(node)
        called: dict[str, str] = {}
        while (view := self._keys.catalog.views.get(name)) is not None:
            if not _is_simple(view):
                self._say(VIEW_WRITTEN)
                break
            below = {
                column: folded(one.this) if isinstance(one, exp.Column) else ""
                for column, one in _projected(view).items()
            }
            columns = [below.get(column, "") for column in columns or below]
            called = {top: below.get(at, "") for top, at in called.items()} if called else below
            name = self._resolved(view.query.args["from_"].this)
        return name, columns, called

    def _values(
        self, columns: list[str], rows: exp.Expr, frame: Frame
    ) -> dict[str, exp.Expr] | None:
        """The values of the new rows by column; None: they are of other rows."""
        if isinstance(rows, exp.Values):
            lists = [
                row.expressions if isinstance(row, exp.Tuple) else [row] for row in rows.expressions
            ]
            if len(lists) > 1:  # rows that differ in more than their values
                self._say(KEY_NOT_NAMED)
            self._nested(rows, frame)
            named = columns or [f"{n:05}" for n in range(len(lists[0]))]
            return dict(zip(named, lists[0], strict=False))
        inner = self.statement(rows, frame)
        if not isinstance(rows, exp.Select) or rows.args.get("where"):
            return None
        given = rows.expressions
        if inner.sources:  # rows of constants: VALUES or unnest
            (source, *more) = inner.sources.values()
            if more or source.table is not None or source.inner is not None:
                return None
            made_up = source.projected
            given = [
                one
                for node in given
                for one in (
                    made_up.values()
                    if isinstance(node, exp.Star)
                    else [made_up.get(node.name.lower(), node)]
                )
            ]
        return dict(zip(columns, given, strict=False))

    def _change(
        self,
        tree: exp.Expr,
        frame: Frame,
        kind: str,
        others: Iterable[exp.Expr | None],
    ) -> None:
        target = self._target(tree.this, frame, kind)
        for other in others:
            if other is not None:
                from_ = other.this if isinstance(other, exp.From) else other
                self._add(from_, frame, "read")
                self._joins(from_, frame)
        self._joins(tree, frame)
        self._where(tree, frame)
        self._move(tree, target)
        self._last(target)

    def _target(self, node: exp.Expr, frame: Frame, kind: str) -> Source:
        """The table that is changed, through views."""
        source = self._add(node, frame, kind)
        while source.table is None and source.inner is not None:
            inner = list(source.inner.sources.values())
            if len(inner) != 1 or not source.simple:
                self._say(VIEW_WRITTEN)
                return source
            (source,) = inner
            source.kind = kind
        return source

    def _move(self, tree: exp.Expr, target: Source) -> None:
        """An update that sets the key writes another row, too."""
        definition = self._keys.definition(target.table or "")
        if not isinstance(tree, exp.Update) or definition is None:
            return
        for one in tree.expressions:
            for column, value in assignments(one):
                same = isinstance(value, exp.Column) and folded(value.this) == column
                if column not in definition.key or same:
                    continue
                part = constant(value)
                if part is None:
                    self._say(KEY_NOT_NAMED)
                else:
                    table = target.table or ""
                    target.moved[column] = self._keys.formed(table, column, part, stored=True)

    def _merge(self, tree: exp.Merge, frame: Frame) -> None:
        matched, fresh = set(), False
        for when in tree.args["whens"].expressions:
            then = when.args.get("then")
            if isinstance(then, exp.Update):
                matched.add("update")
            elif isinstance(then, exp.Insert):
                fresh = True
            elif str(then).lower() == "delete":
                matched.add("delete")
        kind = "read"
        if matched:
            # The row is there more often than not: what contends is what is done to it then.
            kind = "delete" if matched == {"delete"} and not fresh else "update"
        elif fresh:
            kind = "insert"
            self._say(DOES_NOTHING)
        target = self._target(tree.this, frame, "update" if kind == "insert" else kind)
        self._add(tree.args["using"], frame, "read")
        self._bindings.conditions(tree.args.get("on"), frame)
        self._nested(tree, frame)
        target.made_as = kind
        self._last(target)

    def _last(self, target: Source) -> None:
        """A statement reads what it needs before it writes."""
        if target in self._sources:
            self._sources.remove(target)
            self._sources.append(target)

    def _add(self, node: exp.Expr, frame: Frame, kind: str) -> Source:
        """Take a source into a frame."""
        alias = node.alias_or_name.lower()
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            made_up = frame.made_up.get(node.name.lower())
            if made_up is not None and not node.args.get("db"):
                source = made_up
            else:
                source = self._table(node, kind)
            self._joins_within(node, frame, alias, source)
            return source
        source = Source(None)
        if isinstance(node, (exp.Subquery, exp.Lateral)) and isinstance(
            node.this, exp.Query | exp.Table
        ):
            source.inner = self.statement(node.this, frame)
            source.projected = projections(node.this, node)
        elif isinstance(node, exp.Values):
            source.projected = first_row(node)
        elif isinstance(node, exp.Unnest):
            source.projected = unnested(node)
        elif isinstance(node.this, exp.Anonymous):
            self._call(node.this, node.args.get("db"))
        self._joins_within(node, frame, alias or f" {len(frame.sources)}", source)
        return source

    def _table(self, node: exp.Table, kind: str) -> Source:
        """A table, or the tables behind a view."""
        name = self._resolved(node)
        view = self._keys.catalog.views.get(name)
        if view is None:
            source = Source(name, kind)
            if not self._is_of_the_system(name):
                self._sources.append(source)
            return source
        source = Source(None, kind, simple=_is_simple(view))
        source.inner = self.statement(view.query)
        source.projected = _projected(view)
        return source

    def _resolved(self, node: exp.Table) -> str:
        """The full name of a table: of a partition, that of its root."""
        name, guess = self._names.resolve(node)
        if guess is not None:
            self._say(guess)
        return self._keys.catalog.root(name)

    def _is_of_the_system(self, name: str) -> bool:
        return of_the_system(name) and self._keys.definition(name) is None

    def _joins_within(self, node: exp.Expr, frame: Frame, alias: str, source: Source) -> None:
        frame.sources[alias] = source
        self._joins(node, frame)

    def _functions(self, tree: exp.Select) -> None:
        """`SELECT f(1)`: the statements of a function are not logged."""
        for function in tree.find_all(exp.Anonymous):
            within = function.parent
            self._call(function, within.this if isinstance(within, exp.Dot) else None)

    def _call(self, function: exp.Anonymous, schema: exp.Expr | None) -> None:
        name = function.name.lower()
        if schema is not None and schema.name.lower() == "pg_catalog":
            return
        if name in self._keys.catalog.functions:
            return  # `whole` has seen to it
        if not name.startswith("pg_") and name not in _HARMLESS_FUNCTIONS:
            self._say(FUNCTION)

    def _say(self, reason: str) -> None:
        self._reasons.append(reason)

    def _made_by(self, source: Source) -> Iterator[Access]:
        if source.table is None:
            return
        definition = self._keys.definition(source.table)
        if definition is None:
            self._say(NO_DEFINITION)
        kind = source.made_as or source.kind
        if source.locked and kind == "read":
            kind = "update"
        if kind != "read" and not source.locked:
            self._follow(source.table, kind)
        if source.kind == "insert":
            if source.inserted is not None:
                yield source.inserted
            return
        bound = self._bindings.bound_columns(source)
        wanted: tuple[str, ...] = ()
        if definition is not None and definition.key:
            wanted = definition.key
        elif bound:
            wanted = self._keys.asked(source.table, bound)
        key = {
            column: self._keys.formed(source.table, column, bound[column])
            for column in wanted
            if column in bound
        }
        if wanted and len(key) == len(wanted):
            by_row = self._bindings.by_row(source, wanted)
            yield Access(source.table, kind, tuple(key.values()), by_row)
        else:
            yield Access(source.table, "scan", self._bindings.first_of_range(source, wanted, bound))
            if kind != "read":
                self._say(LOCK_NOT_NAMED if source.locked else KEY_NOT_NAMED)
        if source.moved:
            moved = {**key, **source.moved}
            if len(moved) == len(wanted):
                besides = tuple(key.values()) if len(key) == len(wanted) else None
                parts = tuple(moved[column] for column in wanted)
                yield Access(source.table, "update", parts, besides=besides)

    def _follow(self, table: str, kind: str) -> None:
        """What the database does by itself after a write."""
        catalog = self._keys.catalog
        if table in catalog.triggers:
            self._say(TRIGGER)
        if kind == "delete" and table in catalog.cascades:
            self._say(CASCADE)


def _named_table(node: exp.Expr) -> exp.Table:
    if not isinstance(node, exp.Table):
        raise SqlglotError(f"{node.sql(DIALECT)} is no table")
    return node


def _is_simple(view: View) -> bool:
    """Whether rows that are written to a view are rows of the one table behind it."""
    query = view.query
    others = ("with_", "joins", "group", "having", "distinct", "limit", "offset", "laterals")
    from_ = query.args.get("from_")
    return (
        isinstance(query, exp.Select)
        and not any(query.args.get(one) for one in others)
        and from_ is not None
        and isinstance(from_.this, exp.Table)
        and not from_.this.args.get("joins")
    )


def _projected(view: View) -> dict[str, exp.Expr]:
    stands_for = projections(view.query, view.query)
    if not view.columns:
        return stands_for
    return dict(zip(view.columns, stands_for.values(), strict=False))
