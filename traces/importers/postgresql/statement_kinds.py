"""Classifies statements by their first words, without a parser."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from traces.importers.postgresql.accesses import (
    EXECUTED,
    FUNCTION,
    KEY_NOT_NAMED,
    TABLE_LOCKED,
)
from traces.importers.postgresql.shapes import Shape

COPIED = "COPY, whose rows are not in the log"

UNREAD = {
    "copy": COPIED,
    "call": FUNCTION,
    "do": FUNCTION,
    "truncate": KEY_NOT_NAMED,
    "refresh": KEY_NOT_NAMED,
    "execute": EXECUTED,
    "lock": TABLE_LOCKED,
}
"""The reasons why the rows of a statement are unknown, by its first word."""

NAME = r"""(?:(?:u&)?"[^"]*(?:""[^"]*)*"|[\w$]+)"""
"""A name in a statement: a quoted one may contain any characters."""

_COPY = re.compile(
    r"copy ((?:(?:\w+|\"[^\"]*\") \. )?(?:\w+|\"[^\"]*\"))(?: \([^()]*\))? (from|to)\b"
)
_DECLARE = re.compile(rf"declare {NAME} (?:\w+ )*?cursor (?:with hold |without hold )?for ")
_PREPARED = re.compile(
    rf"\s*prepare\s+{NAME}\s*(?:\((?P<types>(?:[^()]|\([^()]*\))*)\))?\s*as\s+", re.IGNORECASE
)
_BETWEEN_TYPES = re.compile(r",(?![^()]*\))")
_EXPLAIN = re.compile(
    r"explain (?:\( (?P<list>[^()]*) \) |(?P<words>(?:(?:analy[sz]e|verbose) )*))"
)
_EXPLAIN_OPTIONS = re.compile(
    r"(?:^|;)(?:\s|--[^\n]*\n|/\*.*?\*/)*explain\s*\((?P<options>[^()]*)\)",
    re.IGNORECASE | re.DOTALL,
)
_OPTION_VALUE = re.compile(r"\b[01]\b|'[^']*'")
_SWITCHES = {"0": "off", "1": "on"}
_EXECUTES = re.compile(r"\banaly[sz]e\b(?! (?:off|false)\b)")
_CREATE_AS = re.compile(
    r"create (?:\w+ )*?(?:table|view) (?:if not exists )?\S+(?: \. \S+)?(?: .*?)?? as "
    r"(?=select |with |values |table |execute |\( (?:select|with) )"
)
_OVERRIDING = re.compile(r" overriding (?:system|user) value\b")
_QUERIES = frozenset(
    {
        *("select", "insert", "update", "delete", "merge"),
        *("with", "values", "table", "("),
    }
)


class Control(Enum):
    """The effect of a statement on its transaction."""

    NONE = auto()
    BEGIN = auto()
    COMMIT = auto()
    COMMIT_AND_CHAIN = auto()
    ROLLBACK = auto()
    ROLLBACK_AND_CHAIN = auto()
    ROLLBACK_TO = auto()
    HAND_OVER = auto()
    """`PREPARE TRANSACTION`: any session can end it by its name."""


_FIRST_WORDS = {
    "begin": Control.BEGIN,
    "start": Control.BEGIN,
    "commit": Control.COMMIT,
    "end": Control.COMMIT,
    "rollback": Control.ROLLBACK,
    "abort": Control.ROLLBACK,
}
_CHAINED = {
    Control.COMMIT: Control.COMMIT_AND_CHAIN,
    Control.ROLLBACK: Control.ROLLBACK_AND_CHAIN,
}


class Query(NamedTuple):
    """The part of a statement that accesses tables.

    Attributes:
        text: as `Shape.text`.
        sql: as `Shape.sql`.
    """

    text: str
    sql: str


def control_of(text: str) -> Control:
    """Return the effect of a statement on its transaction, by the text of its shape."""
    words = text.split(" ", 3)
    control = _FIRST_WORDS.get(words[0], Control.NONE)
    if text.startswith("prepare transaction"):
        return Control.HAND_OVER
    if control in _CHAINED:
        if "prepared" in words[1:2]:
            return Control.NONE
        if control is Control.ROLLBACK and "to" in words[1:3]:
            return Control.ROLLBACK_TO
        if text.endswith("and chain"):
            return _CHAINED[control]
    return control


def with_options_as_words(text: str) -> str:
    """Replace the values of EXPLAIN's options by words, because they are no values of rows."""
    if "explain" not in text.lower():
        return text
    return _EXPLAIN_OPTIONS.sub(lambda found: _OPTION_VALUE.sub(_as_word, found[0]), text)


def _as_word(found: re.Match[str]) -> str:
    return _SWITCHES.get(found[0]) or found[0].strip("'")


def query_of(shape: Shape) -> Query | str | None:
    """Return the query of a statement; a reason of `UNREAD`; or None: it accesses no row."""
    return _query_of(shape.text, shape.sql)


def _query_of(text: str, sql: str) -> Query | str | None:
    word = sql.split(" ", 1)[0]
    if word == "insert":
        return Query(text, _OVERRIDING.sub("", sql))
    if word in _QUERIES:
        return Query(text, sql)
    if word == "declare" and (cursor := _DECLARE.match(sql)):
        # The name of a cursor may differ each time.
        return Query(_DECLARE.sub("", text), sql[cursor.end() :])
    if word == "copy":
        return _copied(text, sql)
    if word == "explain":
        return _explained(text, sql)
    if word == "create":
        return _created(text, sql)
    return word if word in UNREAD else None


def _explained(text: str, sql: str) -> Query | str | None:
    """Return the query of `EXPLAIN ANALYZE`, which is executed."""
    explain, of_text = _EXPLAIN.match(sql), _EXPLAIN.match(text)
    if explain is None or of_text is None:
        return None
    if not _EXECUTES.search(explain["list"] or explain["words"] or ""):
        return None
    return _query_of(text[of_text.end() :], sql[explain.end() :])


def _created(text: str, sql: str) -> Query | str | None:
    """Return the query that fills a new table."""
    create, of_text = _CREATE_AS.match(sql), _CREATE_AS.match(text)
    if create is None or of_text is None:
        return None
    is_view = " view " in create[0] and " materialized " not in create[0]
    if is_view or sql.endswith(" with no data"):
        return None
    return _query_of(text[of_text.end() :], sql[create.end() :].removesuffix(" with data"))


def _copied(text: str, sql: str) -> Query | str:
    table = _COPY.match(sql)
    if table:
        query = f"table {table[1]}"
        return Query(query, query) if table[2] == "to" else "copy"
    inside, _, end = sql.removeprefix("copy ( ").rpartition(" ) to ")
    return Query(text, inside) if inside and end else "copy"


class Prepared(NamedTuple):
    """A prepared statement, and the given types of its parameters."""

    query: str
    types: list[str]


def prepared(sql: str) -> Prepared | None:
    """Return the statement of `PREPARE name (types) AS query`; None for other statements."""
    match = _PREPARED.match(sql)
    if match is None:
        return None
    types = _BETWEEN_TYPES.split(match["types"] or "")
    return Prepared(sql[match.end() :], [type_.strip() for type_ in types])
