"""SQLSTATEs of errors by message, for logs without them (`%e` of `log_line_prefix`)."""

from __future__ import annotations

import re

UNKNOWN = "unknown"

_STATES = tuple(
    (re.compile(pattern), state)
    for pattern, state in (
        (r"current transaction is aborted", "25P02"),
        (r"deadlock detected", "40P01"),
        (r"could not serialize access", "40001"),
        (r"could not obtain lock", "55P03"),
        (r"canceling statement due to lock timeout", "55P03"),
        (r"canceling statement due to", "57014"),
        (r"terminating connection due to", "57P01"),
        (r"duplicate key value violates", "23505"),
        (r".*violates foreign key constraint", "23503"),
        (r"null value in column .* violates not-null", "23502"),
        (r".*violates check constraint", "23514"),
        (r"division by zero", "22012"),
        (r"invalid input (?:syntax|value) for", "22P02"),
        (r"value too long for type", "22001"),
        (r"syntax error at", "42601"),
        (r"(?:relation|table|view|sequence) .* does not exist", "42P01"),
        (r"missing FROM-clause entry", "42P01"),
        (r"column .* does not exist", "42703"),
        (r"(?:function|procedure|operator).* does not exist", "42883"),
        (r"(?:type|role|index|constraint) .* does not exist", "42704"),
        (r"column reference .* is ambiguous", "42702"),
        (r"permission denied for|must be owner of", "42501"),
        (r"relation .* already exists", "42P07"),
        (r"there is no parameter", "42P02"),
        (r"could not determine data type", "42P18"),
        (r"column .* is of type .* but expression", "42804"),
    )
)


def state_of(message: str) -> str:
    """Return the SQLSTATE of an error by its English message, or `UNKNOWN`."""
    first = message.split("\n", 1)[0]
    return next((state for pattern, state in _STATES if pattern.match(first)), UNKNOWN)
