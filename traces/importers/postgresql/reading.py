"""What a statement touches: tables, keys and kinds of access, read off its syntax tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from traces.importers.postgresql.accesses import (
    FUNCTION,
    KEY_NOT_NAMED,
    NOT_PARSED,
    Access,
    Accesses,
    KeyPart,
)
from traces.importers.postgresql.bindings import Bindings, Frame, Source
from traces.importers.postgresql.syntax import (
    constant,
    first_row,
    projections,
    queries_in_expressions,
)
from traces.importers.postgresql.table_keys import DIALECT, TableKeys, folded, table_name

_HARMLESS_FUNCTIONS = frozenset(
    {
        *("currval", "lastval", "nextval", "setval"),
        *("current_setting", "set_config", "version"),
        *("clock_timestamp", "statement_timestamp", "txid_current"),
    }
)
"""Functions that touch no table and that the parser does not know."""


def accesses_of(sql: str, keys: TableKeys) -> Accesses:
    """Read off what a statement touches.

    Args:
        sql: with the numbers of slots in place of its literals, see
            `traces.importers.postgresql.shapes.Shape`.
        keys: of the tables.
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=DIALECT)
        if isinstance(tree, exp.Command):
            return Accesses(faults=(NOT_PARSED,))
        reading = _Reading(keys)
        reading.statement(tree)
        return reading.accesses()
    except (SqlglotError, RecursionError):
        return Accesses(faults=(NOT_PARSED,))


class _Reading:
    """One statement being read."""

    def __init__(self, keys: TableKeys) -> None:
        self._keys = keys
        self._sources: list[Source] = []
        self._bindings = Bindings(keys)
        self._faults: list[str] = []
        self._guessed: set[str] = set()

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
            self._fault(NOT_PARSED)
        return frame

    def accesses(self) -> Accesses:
        """What was found."""
        made = [access for source in self._sources for access in self._made_by(source)]
        return Accesses(tuple(made), tuple(dict.fromkeys(self._faults)), frozenset(self._guessed))

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
        table = target.this if isinstance(target, exp.Schema) else target
        name = table_name(table)
        columns = [folded(c) for c in target.expressions] if isinstance(target, exp.Schema) else []
        source = Source(name, "insert")
        rows = tree.expression
        if isinstance(rows, exp.Values):
            source.inserted = self._inserted(name, columns, rows)
            self._nested(rows, frame)
        elif rows is None:  # DEFAULT VALUES
            source.inserted = Access(name, "insert", None)
        else:
            inner = self.statement(rows, frame)
            source.inserted = self._selected(name, columns, rows, inner)
            if source.inserted is None:
                self._fault(KEY_NOT_NAMED)
        if not _of_the_system(name):
            self._sources.append(source)

    def _inserted(self, table: str, columns: list[str], rows: exp.Values) -> Access:
        """The access of `INSERT … VALUES`; rows that were not folded have to be of one key."""
        definition = self._keys.definition(table)
        named = columns or list(definition.columns if definition else ())
        lists = [
            row.expressions if isinstance(row, exp.Tuple) else [row] for row in rows.expressions
        ]
        values = dict(
            zip(named or [f"{n:05}" for n in range(len(lists[0]))], lists[0], strict=False)
        )
        if len(lists) > 1:
            self._fault(KEY_NOT_NAMED)
        return Access(table, "insert", self._insert_key(table, values), by_row=True)

    def _selected(
        self, table: str, columns: list[str], rows: exp.Expr, inner: Frame
    ) -> Access | None:
        """The access of `INSERT … SELECT`, if every key is known: one row of constants."""
        if not isinstance(rows, exp.Select) or inner.sources:
            return None
        definition = self._keys.definition(table)
        named = columns or list(definition.columns if definition else ())
        values = dict(zip(named, rows.expressions, strict=False))
        return Access(table, "insert", self._insert_key(table, values), by_row=True)

    def _insert_key(self, table: str, values: dict[str, exp.Expr]) -> tuple[KeyPart, ...] | None:
        definition = self._keys.definition(table)
        if definition is not None:
            wanted = definition.key
        else:
            asked = self._keys.asked_by(table)
            if asked is None:
                self._guessed.add(table)
            wanted = asked if asked and set(asked) <= set(values) else tuple(sorted(values))
        parts = [constant(values[column]) if column in values else None for column in wanted]
        if definition is None and asked is None:
            parts = [part for part in parts if part is not None]
        if not parts or None in parts:
            return None
        return tuple(part for part in parts if part is not None)

    def _change(
        self,
        tree: exp.Expr,
        frame: Frame,
        kind: str,
        others: Iterable[exp.Expr | None],
    ) -> None:
        target = self._add(tree.this, frame, kind)
        for other in others:
            if other is not None:
                from_ = other.this if isinstance(other, exp.From) else other
                self._add(from_, frame, "read")
                self._joins(from_, frame)
        self._joins(tree, frame)
        self._where(tree, frame)
        self._last(target)

    def _merge(self, tree: exp.Merge, frame: Frame) -> None:
        kinds = [
            "update" if isinstance(then, exp.Update) else "insert"
            for when in tree.args["whens"].expressions
            if isinstance(then := when.args.get("then"), (exp.Update, exp.Insert))
        ]
        kind = "update" if "update" in kinds else "insert" if kinds else "delete"
        target = self._add(tree.this, frame, kind)
        self._add(tree.args["using"], frame, "read")
        self._bindings.conditions(tree.args.get("on"), frame)
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
            made_up = frame.made_up.get(alias_name := node.name.lower())
            if made_up is not None and not node.args.get("db"):
                source = made_up
            else:
                source = Source(table_name(node), kind)
                if not _of_the_system(source.table or alias_name):
                    self._sources.append(source)
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
        elif isinstance(node.this, exp.Anonymous):
            self._call(node.this, node.args.get("db"))
        self._joins_within(node, frame, alias or f" {len(frame.sources)}", source)
        return source

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
        if not name.startswith("pg_") and name not in _HARMLESS_FUNCTIONS:
            self._fault(FUNCTION)

    def _fault(self, reason: str) -> None:
        self._faults.append(reason)

    def _made_by(self, source: Source) -> Iterator[Access]:
        if source.kind == "insert" and source.inserted is not None:
            yield source.inserted
        if source.table is None or source.kind == "insert":
            return
        bound = self._bindings.bound_columns(source)
        definition = self._keys.definition(source.table)
        wanted: tuple[str, ...] = ()
        if definition is not None and definition.key:
            wanted = definition.key
        elif bound:
            wanted = self._keys.asked(source.table, bound)
        key = [bound[column] for column in wanted if column in bound]
        if wanted and len(key) == len(wanted):
            yield Access(
                source.table, source.kind, tuple(key), self._bindings.by_row(source, wanted)
            )
            return
        yield Access(source.table, "scan", self._bindings.first_of_range(source, wanted, bound))
        if source.kind != "read":
            self._fault(KEY_NOT_NAMED)


def _of_the_system(table: str) -> bool:
    """Whether a table is PostgreSQL's own: catalogues are no data of an application."""
    return table.startswith(("pg_", "information_schema."))
