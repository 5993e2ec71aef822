"""What an entry of the log says: a statement, an error, the end of a session."""

from __future__ import annotations

import re
from typing import NamedTuple

from traces.importers.postgresql import literals
from traces.importers.postgresql.statement_kinds import prepared_query

USER, DATABASE, SESSION, SESSION_LINE, TAG, VIRTUAL_ID = 1, 2, 5, 6, 7, 9
SEVERITY, STATE, MESSAGE, DETAIL, CONTEXT, QUERY, BACKEND = 11, 12, 13, 14, 18, 19, 23
"""Columns of csvlog (PostgreSQL manual, section 20.8.4)."""

CLIENT = "client backend"
"""The type of a process that serves a session."""

_PARAMETER = re.compile(r"= (NULL|'[^']*(?:''[^']*)*')")
_EXECUTE = re.compile(r"\s*execute\s+(?:\"[^\"]*\"|[\w$]+)\s*(?:\((.*)\))?\s*;?\s*$", re.I | re.S)


class Statement(NamedTuple):
    """A statement that a client sent.

    Attributes:
        sql: its text.
        parameters: the values of `$1` and so on, as literals; None where they are not known.
        took_us: how long it took, where the entry was written after it; None: before it.
        extended: whether it may have been sent together with others, to be one transaction.
    """

    sql: str
    parameters: list[str] | None = None
    took_us: int | None = None
    extended: bool = False


def statement_of(message: str, detail: str) -> Statement | None:
    """The statement in an entry, if it has one that is or was executed.

    Args:
        message: the entry's.
        detail: the entry's.
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
    return None  # the statement was logged before, or this is a step towards it


def parameters_in_context(context: str) -> list[str] | None:
    """The parameters that the context of an error names (`log_parameter_max_length_on_error`)."""
    return _parameters(context) if "parameters: " in context else None


def _parameters(detail: str) -> list[str] | None:
    return _PARAMETER.findall(detail) if detail else None


def _us(milliseconds: str) -> int:
    return round(float(milliseconds) * 1000)


def _extended(message: str, detail: str, took_us: int | None) -> Statement | None:
    name, _, sql = message.partition(": ")
    if name.startswith("fetch from "):
        return None  # more rows of a statement that was logged
    return Statement(sql, _parameters(detail), took_us, extended=True)


def _simple(sql: str, detail: str, took_us: int | None) -> Statement:
    if detail and detail.startswith("prepare: "):
        query = prepared_query(detail[9:])
        call = _EXECUTE.match(sql)
        if query is not None and call is not None:
            return Statement(query, _arguments(call[1] or ""), took_us)
    return Statement(sql, None, took_us)


def _arguments(listed: str) -> list[str] | None:
    """The arguments of `EXECUTE`, if each is a literal."""
    parts = literals.split(listed)
    gaps = "".join(parts[::2]).replace(" ", "")
    negative = [gap.rstrip().endswith("-") for gap in parts[:-1:2]]
    if gaps.replace("-", "").strip(",") or gaps.replace("-", "") != "," * (len(parts) // 2 - 1):
        return None
    return [
        literals.quoted(f"-{literals.value(one)}") if minus else one
        for one, minus in zip(parts[1::2], negative, strict=True)
    ]
