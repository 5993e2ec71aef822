"""Interprets entries of the log: statements, errors, and ends of sessions."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import NamedTuple

from traces.importers.postgresql import literals
from traces.importers.postgresql.casts import parameter
from traces.importers.postgresql.constants import CUT
from traces.importers.postgresql.statement_kinds import NAME, prepared

USER, DATABASE, SESSION, SESSION_LINE, TAG, VIRTUAL_ID = 1, 2, 5, 6, 7, 9
SEVERITY, STATE, MESSAGE, DETAIL, CONTEXT, QUERY, BACKEND = 11, 12, 13, 14, 18, 19, 23
"""Columns of csvlog (PostgreSQL manual, section 20.8.4)."""

CLIENT = "client backend"
"""The type of a process that serves a session."""

_PARAMETER = re.compile(r"= (NULL|'[^']*(?:''[^']*)*')")
_EXECUTE = re.compile(rf"\s*execute\s+{NAME}\s*(?:\((.*)\))?\s*;?\s*$", re.I | re.S)
_CUT_END = re.compile(r"(?:\.\.\.|…|[\[<(]truncated[^\])>]*[\])>])\s*$", re.I)
_MARK_CHARACTERS = 64
_CUT_PARAMETER = "...'"
_FIRST_WORDS = (
    "select insert update delete merge with values table",
    "begin start commit end rollback abort savepoint release",
    "prepare execute deallocate declare fetch move close copy call do",
    "truncate lock set reset show explain create alter drop grant revoke analyze vacuum",
    "listen notify unlisten discard refresh comment",
)
_SQL = re.compile(rf"\s*(?:/\*|--|\(|(?:{'|'.join(' '.join(_FIRST_WORDS).split())})\b)", re.I)
"""The start of a statement."""

_NAMES_CHARACTERS_MAX = 2 * 256
"""The maximum length of the names of a prepared statement and its portal, in bytes."""


class Statement(NamedTuple):
    """A statement of a client.

    Attributes:
        sql: its text.
        parameters: the values of `$1` and so on, as literals; None: unknown.
        took_us: its duration, if the entry was written after it; None: before it.
        extended: whether it may have been sent together with others, as one transaction.
    """

    sql: str
    parameters: list[str] | None = None
    took_us: int | None = None
    extended: bool = False


def statement_of(message: str, detail: str) -> Statement | None:
    """Return the statement of an entry, if it has one that is or was executed.

    Args:
        message: the message of the entry.
        detail: the detail of the entry.
    """
    if message.startswith("statement: "):
        return _simple(message[11:], detail, None)
    if message.startswith("execute "):
        return _extended(message[8:], detail, None)
    if not message.startswith("duration: "):
        return None
    milliseconds, _, message = message[10:].partition(" ms  ")
    if message.startswith("statement: "):
        return _simple(message[11:], detail, _us(milliseconds))
    if message.startswith("execute "):
        return _extended(message[8:], detail, _us(milliseconds))
    return None  # the statement was logged before, or this is a phase of it


def parameters_in_context(context: str) -> list[str] | None:
    """Return the parameters in the context of an error (`log_parameter_max_length_on_error`)."""
    return _parameters(context) if "parameters: " in context else None


def _parameters(detail: str) -> list[str] | None:
    if not detail:
        return None
    found = _PARAMETER.findall(detail)
    if _CUT_PARAMETER in detail:
        return [CUT if value.endswith(_CUT_PARAMETER) else value for value in found]
    return found


def _us(milliseconds: str) -> int:
    return round(float(milliseconds) * 1000)


def _extended(message: str, detail: str, took_us: int | None) -> Statement | None:
    name, sql = _name_and_sql(message)
    if name.startswith("fetch from "):
        return None  # more rows of a statement that was logged
    return Statement(sql, _parameters(detail), took_us, extended=True)


def _name_and_sql(message: str) -> tuple[str, str]:
    """Return a prepared statement's name, which may be any text, and the statement."""
    place = message.find(": ")
    while 0 <= place <= _NAMES_CHARACTERS_MAX:
        if _SQL.match(message, place + 2):
            return message[:place], message[place + 2 :]
        place = message.find(": ", place + 1)
    name, _, sql = message.partition(": ")
    return name, sql


def is_cut(sql: str) -> bool:
    """Whether the writer or a copy of the log marked the statement as truncated."""
    return _CUT_END.search(sql[-_MARK_CHARACTERS:]) is not None


def _simple(sql: str, detail: str, took_us: int | None) -> Statement:
    if detail and detail.startswith("prepare: "):
        made = prepared(detail[9:])
        call = _EXECUTE.match(sql)
        if made is not None and call is not None:
            return Statement(made.query, _arguments(call[1] or "", made.types), took_us)
    return Statement(sql, None, took_us)


def _arguments(listed: str, types: list[str]) -> list[str] | None:
    """Return the arguments of `EXECUTE` as values of these types, if all are literals."""
    parts = literals.split(listed)
    gaps = "".join(parts[::2]).replace(" ", "")
    negative = [gap.rstrip().endswith("-") for gap in parts[:-1:2]]
    if gaps.replace("-", "").strip(",") or gaps.replace("-", "") != "," * (len(parts) // 2 - 1):
        return None
    signed = [
        literals.with_minus(literal) if minus else literal
        for literal, minus in zip(parts[1::2], negative, strict=True)
    ]
    return [
        parameter(literal, kind) if kind else literal
        for literal, kind in zip_longest(signed, types[: len(signed)], fillvalue="")
    ]
