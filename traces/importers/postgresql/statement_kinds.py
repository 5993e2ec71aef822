"""Kinds of statements, told apart by their first words: without a parser."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from traces.importers.postgresql.accesses import FUNCTION, KEY_NOT_NAMED
from traces.importers.postgresql.shapes import Shape

COPIED = "COPY, whose rows are not in the log"

UNREAD = {"copy": COPIED, "call": FUNCTION, "do": FUNCTION, "truncate": KEY_NOT_NAMED}
"""By the first word of a statement, why it is not known which rows it touches."""

_COPY = re.compile(
    r"copy ((?:(?:\w+|\"[^\"]*\") \. )?(?:\w+|\"[^\"]*\"))(?: \([^()]*\))? (from|to)\b"
)
_DECLARE = re.compile(r"declare \S+ (?:\w+ )*?cursor (?:with hold |without hold )?for ")
_PREPARED = re.compile(
    r"\s*prepare\s+(?:\"[^\"]*\"|[\w$]+)\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*as\s+", re.IGNORECASE
)
_QUERIES = frozenset(
    {
        *("select", "insert", "update", "delete", "merge"),
        *("with", "values", "table", "("),
    }
)


class Control(Enum):
    """What a statement does to the transaction it is in."""

    NONE = auto()
    BEGIN = auto()
    COMMIT = auto()
    COMMIT_AND_CHAIN = auto()
    ROLLBACK = auto()
    ROLLBACK_AND_CHAIN = auto()
    ROLLBACK_TO = auto()
    HAND_OVER = auto()
    """`PREPARE TRANSACTION`: whoever knows its name ends it."""


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
    """What of a statement reads and writes tables.

    Attributes:
        text: as of `Shape.text`.
        sql: as of `Shape.sql`.
    """

    text: str
    sql: str


def control_of(text: str) -> Control:
    """What a statement does to its transaction, by the text of its shape."""
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


def query_of(shape: Shape) -> Query | str | None:
    """The query of a statement; a word of `UNREAD`; or None: it touches no row."""
    word = shape.sql.split(" ", 1)[0]
    if word in _QUERIES:
        return Query(shape.text, shape.sql)
    if word == "declare" and (cursor := _DECLARE.match(shape.sql)):
        # The name of a cursor may be new each time.
        return Query(_DECLARE.sub("", shape.text), shape.sql[cursor.end() :])
    if word == "copy":
        return _copied(shape)
    return word if word in UNREAD else None


def _copied(shape: Shape) -> Query | str:
    table = _COPY.match(shape.sql)
    if table:
        query = f"table {table[1]}"
        return Query(query, query) if table[2] == "to" else "copy"
    inside, _, end = shape.sql.removeprefix("copy ( ").rpartition(" ) to ")
    return Query(shape.text, inside) if inside and end else "copy"


def prepared_query(sql: str) -> str | None:
    """The query of `PREPARE name (types) AS query`; None if this is none."""
    match = _PREPARED.match(sql)
    return sql[match.end() :] if match else None
