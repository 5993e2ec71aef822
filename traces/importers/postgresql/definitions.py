"""Reads definitions from a script, such as the output of `pg_dump --schema-only`."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from traces.errors import TraceError
from traces.importers.base import LeftOut
from traces.importers.byte_order import read_text
from traces.importers.postgresql import literals
from traces.importers.postgresql.catalog import (
    Catalog,
    TableDefinition,
    View,
    full_name,
    split_name,
)
from traces.importers.postgresql.syntax import DIALECT, folded, mark_values, table_name

# sqlglot logs statements that it can't parse; these are counted and named here instead.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

_PRIMARY_KEY = ""
"""Represents the columns of the primary key."""

INEXACT = "text of a collation that is not deterministic"
"""The type of columns whose collation is not deterministic."""

_PART = r'(?:"[^"]+(?:""[^"]*)*"|[\w$]+)'
_NAME = rf"(?:{_PART}\s*\.\s*)?{_PART}"
_DEFINITION = re.compile(
    r"^[ \t]*(?:create\s+(?:or\s+replace\s+)?(?:\w+\s+){0,2}?"
    r"(?P<what>table|view|type|domain|index|function|procedure|trigger|rule|collation)\b"
    r"|(?P<alter>alter)\s+table\b).*",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_TELLING = re.compile(r"primary\s+key|unique|foreign\s+key", re.IGNORECASE)
_PART_OF = re.compile(
    rf"alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?(?P<first>{_NAME})\s+"
    rf"(?P<how>attach\s+partition|inherit)\s+(?P<second>{_NAME})",
    re.IGNORECASE,
)
_DOMAIN = re.compile(
    rf"create\s+domain\s+(?P<name>{_NAME})\s+(?:as\s+)?(?P<kind>.+?)"
    r"(?=\s+(?:collate|default|constraint|check|not|null)\b|\s*$)",
    re.IGNORECASE | re.DOTALL,
)
_INEXACT_COLLATION = re.compile(
    rf"collation\s+(?:if\s+not\s+exists\s+)?(?P<name>{_NAME})\s*\(.*"
    r"\bdeterministic\s*=\s*(?:false|off|'false')",
    re.IGNORECASE | re.DOTALL,
)
_FUNCTION = re.compile(rf"(?:function|procedure)\s+(?P<name>{_NAME})\s*\(", re.IGNORECASE)
_USES_TABLES = re.compile(
    r"\b(?:select|insert|update|delete|merge|perform|execute|truncate|copy)\b", re.IGNORECASE
)
_CALL = re.compile(rf"({_PART})\s*\(")
_TRIGGER = re.compile(
    rf"trigger\s+{_NAME}\s+(?P<when>before|after|instead\s+of)\s+(?P<events>.*?)"
    rf"\son\s+(?P<table>{_NAME})\s.*"
    rf"execute\s+(?:function|procedure)\s+(?P<function>{_NAME})",
    re.IGNORECASE | re.DOTALL,
)
_RULE = re.compile(
    rf"rule\s+{_NAME}\s+as\s+on\s+(?P<event>insert|update|delete)\s+to\s+(?P<table>{_NAME})",
    re.IGNORECASE,
)
_EVENT = re.compile(r"(?:^|\bor\s+)\s*(insert|update|delete)\b")
_MATERIALIZED = re.compile(
    rf"\s*create\s+materialized\s+view\s+(?:if\s+not\s+exists\s+)?(?P<name>{_NAME})",
    re.IGNORECASE,
)
_OPTIONS_OF_A_VIEW = re.compile(r"\)?\s*with\s*\([^()]*\)\s*(?=as\b)", re.IGNORECASE)
_CHECK_OPTION = re.compile(r"\s+with\s+(?:(?:local|cascaded)\s+)?check\s+option\s*$", re.IGNORECASE)
_UNREADABLE_TYPES = (
    (re.compile(r"\bbit\s+varying\b", re.IGNORECASE), "varbit"),
    (re.compile(r"\s(?:storage|compression)\s+\w+", re.IGNORECASE), " "),
)


def read_definitions(path: Path, left_out: LeftOut) -> Catalog:
    """Read the definitions of a script; other statements are ignored.

    Args:
        path: the script.
        left_out: counts definitions that can't be read.

    Raises:
        TraceError: the file can't be read, or defines no table.
    """
    text = read_text(path, "write it with pg_dump -E UTF8")
    script = _Script()
    for place, statement in literals.statements(text):
        definition = _DEFINITION.search(statement)
        if definition is None:
            continue
        try:
            script.add((definition["what"] or "alter").lower(), definition[0])
        except (SqlglotError, RecursionError):
            line = text.count("\n", 0, place + definition.start()) + 1
            first = definition[0].split("\n", 1)[0]
            left_out.bad(
                "table definition that can't be read", 1, [f"{path.name}:{line}: {first[:100]}"]
            )
    if not script.tables:
        raise TraceError(f"{path}: defines no table; create it with pg_dump --schema-only")
    return script.catalog()


class _Script:
    """The definitions that a script has made so far."""

    def __init__(self) -> None:
        self.tables: dict[str, TableDefinition] = {}
        self._parents: dict[str, str] = {}
        self._views: dict[str, View] = {}
        self._types: dict[str, str] = {}
        self._functions: dict[str, bool] = {}
        self._calls: dict[str, frozenset[str]] = {}
        self._triggers: list[tuple[str, str]] = []
        self._instead: dict[str, frozenset[str]] = {}
        self._rules: dict[str, frozenset[str]] = {}
        self._cascades: set[str] = set()
        self._followed: dict[str, set[str]] = {}
        self._inexact: set[str] = set()

    def catalog(self) -> Catalog:
        """Return all definitions."""
        self._follow_calls()
        catalog = Catalog(parents=self._parents)
        for child in self._parents:
            self._inherit_key(child, catalog.root(child))
        return Catalog(
            self.tables,
            self._parents,
            self._views,
            self._types,
            self._functions,
            frozenset(table for table, function in self._triggers if self._functions.get(function)),
            self._instead,
            self._rules_of_roots(catalog),
            frozenset(self._cascades),
            {table: self._columns_of(table, names) for table, names in self._followed.items()},
        )

    def add(self, what: str, sql: str) -> None:
        """Add a definition; `what` is its keyword, such as `table`."""
        if what in ("function", "procedure"):
            self._function(sql)
        elif what == "trigger":
            self._trigger(sql)
        elif what == "rule":
            self._rule(sql)
        elif what == "domain":
            self._domain(sql)
        elif what == "alter":
            self._alter(sql)
        elif what == "view":
            self._view(sql)
        elif what == "collation":
            collation = _INEXACT_COLLATION.search(sql)
            if collation is not None:
                self._inexact.add(_name(collation["name"]))
        elif what == "index":
            self._index(sql)
        elif what == "type":
            self._enumeration(sql)
        else:
            self._table(_parsed(sql))

    def _table(self, statement: exp.Expr) -> None:
        table = statement.find(exp.Table)
        if table is None:
            return
        name = table_name(table)
        columns: dict[str, str] = {}
        if isinstance(statement, exp.Create):
            columns = {
                folded(column.this): self._type(column)
                for column in statement.find_all(exp.ColumnDef)
            }
            for parent in _parents(statement):
                self._parents.setdefault(name, table_name(parent))
        known = self.tables.get(name, TableDefinition())
        self.tables[name] = TableDefinition(
            tuple(columns) or known.columns,
            _primary_key(statement) or known.key,
            columns or known.types,
            {**known.unique, **dict(_unique_constraints(statement, name))},
        )
        for key in statement.find_all(exp.ForeignKey, exp.Reference):
            self._foreign_key(key)

    def _type(self, column: exp.ColumnDef) -> str:
        """Return the type of a column; `INEXACT` if its collation is not deterministic."""
        collation = column.find(exp.CollateColumnConstraint)
        if collation is not None and _name(collation.this.sql(DIALECT)) in self._inexact:
            return INEXACT
        return _kind(column)

    def _foreign_key(self, key: exp.Expr) -> None:
        reference = key if isinstance(key, exp.Reference) else key.args.get("reference")
        if reference is None:
            return
        actions = [*(key.args.get("options") or ()), *(reference.args.get("options") or ())]
        actions += [f"on {event} {key.args.get(event)}" for event in ("delete", "update")]
        table = reference.find(exp.Table)
        if table is None:
            return
        for action in actions:
            found = re.match(r"on (delete|update) (?:cascade|set)", str(action), re.IGNORECASE)
            if found is not None and found[1].lower() == "delete":
                self._cascades.add(table_name(table))
            elif found is not None:
                schema = reference.this
                columns = schema.expressions if isinstance(schema, exp.Schema) else ()
                followed = self._followed.setdefault(table_name(table), set())
                followed.update(map(folded, columns) if columns else [_PRIMARY_KEY])

    def _columns_of(self, table: str, names: set[str]) -> frozenset[str]:
        """Return the referenced columns of foreign keys; by default those of the primary key."""
        if _PRIMARY_KEY not in names:
            return frozenset(names)
        known = self.tables.get(table)
        return frozenset({*names, *(known.key if known is not None else ())}) - {_PRIMARY_KEY}

    def _inherit_key(self, child: str, root: str) -> None:
        """Give a table the key of its root; only the lowest of inheriting tables may have one."""
        above, below = self.tables.get(root), self.tables.get(child)
        if above is not None and below is not None and not above.key:
            self.tables[root] = replace(above, key=below.key)

    def _alter(self, sql: str) -> None:
        part_of = _PART_OF.search(sql)
        if part_of is not None:
            first, second = _name(part_of["first"]), _name(part_of["second"])
            attached = part_of["how"].lower().startswith("attach")
            child, parent = (second, first) if attached else (first, second)
            self._parents.setdefault(child, parent)
        elif _TELLING.search(sql):
            self._table(_parsed(sql))

    def _view(self, sql: str) -> None:
        stored = _MATERIALIZED.match(sql)
        if stored is not None:  # a materialized view is a table that clients do not write
            self.tables.setdefault(_name(stored["name"]), TableDefinition())
            return
        plain = _CHECK_OPTION.sub("", _OPTIONS_OF_A_VIEW.sub(_kept_parenthesis, sql))
        statement = _parsed(plain)
        target = statement.this
        table = statement.find(exp.Table) if isinstance(target, exp.Schema) else target
        if not isinstance(table, exp.Table) or not isinstance(statement.expression, exp.Query):
            return
        name = table_name(table)
        columns = target.expressions if isinstance(target, exp.Schema) else ()
        names = tuple(folded(column.find(exp.Identifier) or column) for column in columns)
        self._views[name] = View(mark_values(statement.expression), names, _called(plain))

    def _index(self, sql: str) -> None:
        if not re.match(r"\s*create\s+unique\b", sql, re.IGNORECASE) or " where " in sql.lower():
            return
        index = _parsed(sql).this
        if not isinstance(index, exp.Index) or index.args.get("table") is None:
            return
        name = table_name(index.args["table"])
        columns = index.args["params"].args.get("columns") or ()
        plain = [column.this.this for column in columns if isinstance(column.this, exp.Column)]
        if name in self.tables and len(plain) == len(columns):
            known = self.tables[name]
            unique = {
                **known.unique,
                folded(index.this): tuple(folded(expression) for expression in plain),
            }
            self.tables[name] = replace(known, unique=unique)

    def _enumeration(self, sql: str) -> None:
        statement = _parsed(sql)
        table = statement.find(exp.Table)
        kind = statement.args.get("expression")
        if table is not None and isinstance(kind, exp.DataType) and "ENUM" in kind.sql(DIALECT):
            self._types[table_name(table)] = "enum"

    def _domain(self, sql: str) -> None:
        found = _DOMAIN.search(sql)
        if found is not None:
            column = _parsed(f"create table t (c {found['kind']})").find(exp.ColumnDef)
            if column is not None:
                self._types[_name(found["name"])] = _kind(column)

    def _function(self, sql: str) -> None:
        found = _FUNCTION.search(sql)
        if found is not None:
            name = _schema_and_name(found["name"])[1]
            uses = _USES_TABLES.search(sql, found.end()) is not None
            self._functions[name] = self._functions.get(name, False) or uses
            self._calls[name] = self._calls.get(name, frozenset()) | _called(sql[found.end() :])

    def _follow_calls(self) -> None:
        """Mark functions that call a function that uses tables."""
        use = {name for name, uses in self._functions.items() if uses}
        while more := {name for name in self._functions if self._calls[name] & use} - use:
            use |= more
        self._functions.update(dict.fromkeys(use, True))

    def _trigger(self, sql: str) -> None:
        found = _TRIGGER.search(sql)
        if found is not None:
            function = _schema_and_name(found["function"])[1]
            table = _name(found["table"])
            self._triggers.append((table, function))
            if found["when"].lower().startswith("instead"):
                events = frozenset(_EVENT.findall(found["events"].lower()))
                self._instead[table] = self._instead.get(table, frozenset()) | events

    def _rules_of_roots(self, catalog: Catalog) -> dict[str, frozenset[str]]:
        """Return the events of rules; those of partitions count for the whole table."""
        found: dict[str, frozenset[str]] = {}
        for table, events in self._rules.items():
            root = catalog.root(table)
            found[root] = found.get(root, frozenset()) | events
        return found

    def _rule(self, sql: str) -> None:
        found = _RULE.search(sql)
        if found is not None:  # rules of SELECT are views
            table = _name(found["table"])
            event = frozenset({found["event"].lower()})
            self._rules[table] = self._rules.get(table, frozenset()) | event


def _parsed(sql: str) -> exp.Expr:
    for pattern, other in _UNREADABLE_TYPES:
        sql = pattern.sub(other, sql)
    return sqlglot.parse_one(sql, dialect=DIALECT)


def _name(text: str) -> str:
    """Return a name in its written form, such as `"Shop".orders`."""
    return full_name(*_schema_and_name(text))


def _schema_and_name(text: str) -> tuple[str, str]:
    plain = [
        part[1:-1].replace('""', '"') if part[0] == '"' else literals.folded(part)
        for part in re.findall(_PART, text)
    ]
    return (plain[0] if len(plain) > 1 else ""), plain[-1]


def _called(text: str) -> frozenset[str]:
    """Return the functions that a text calls, by their names without schema."""
    return frozenset(_schema_and_name(found[1])[1] for found in _CALL.finditer(text))


def _kind(column: exp.Expr) -> str:
    kind = column.args.get("kind")
    return kind.sql(dialect=DIALECT).replace('public."', '"') if kind is not None else ""


def _kept_parenthesis(found: re.Match[str]) -> str:
    return ") " if found[0].startswith(")") else " "


def _parents(statement: exp.Create) -> Iterator[exp.Table]:
    for property_ in statement.find_all(exp.InheritsProperty):
        yield from property_.expressions
    for part in statement.find_all(exp.PartitionedOfProperty):
        parent = part.this.this if isinstance(part.this, exp.Schema) else part.this
        if isinstance(parent, exp.Table):
            yield parent


def _primary_key(statement: exp.Expr) -> tuple[str, ...]:
    whole = statement.find(exp.PrimaryKey)
    if whole is not None:
        return tuple(folded(part.find(exp.Identifier) or part) for part in whole.expressions)
    return tuple(
        folded(column.this)
        for column in statement.find_all(exp.ColumnDef)
        if column.find(exp.PrimaryKeyColumnConstraint)
    )


def _unique_constraints(statement: exp.Expr, table: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    _, bare = split_name(table)
    for constraint in statement.find_all(exp.Constraint):
        columns: list[exp.Expr] = []
        for kind in constraint.find_all(exp.UniqueColumnConstraint):
            if isinstance(kind.this, exp.Schema):
                columns = kind.this.expressions
        for key in constraint.find_all(exp.PrimaryKey):
            columns = [part.find(exp.Identifier) or part for part in key.expressions]
        if columns:
            yield folded(constraint.this), tuple(folded(column) for column in columns)
    primary = _primary_key(statement)
    if primary:
        yield f"{bare}_pkey", primary
    for column in statement.find_all(exp.ColumnDef):
        if column.find(exp.UniqueColumnConstraint):
            yield f"{bare}_{folded(column.this)}_key", (folded(column.this),)
