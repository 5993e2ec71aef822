"""Temporary tables, which never conflict because each session has its own."""

from __future__ import annotations

import re

TEMPORARY = "access to a temporary table"

_NAME = r'(?:pg_temp \. )?("[^"]*(?:""[^"]*)*"|[\w$]+)'
_CREATE = re.compile(rf"create (?:local |global )?temp(?:orary)? table (?:if not exists )?{_NAME}")
_INTO = re.compile(rf"select .* into temp(?:orary)? (?:table )?{_NAME}")
_DROP = re.compile(r"drop table (?:if exists )?(?P<names>.+?)(?: cascade| restrict)?")
_DISCARD = re.compile(r"discard (?:all|temp|temporary)")


def made_temporary(text: str) -> str | None:
    """Return the temporary table that a statement creates, by the text of its shape."""
    if "temp" not in text:
        return None
    found = _CREATE.match(text) or _INTO.match(text)
    return _unquoted(found[1]) if found is not None else None


def dropped(text: str) -> frozenset[str] | None:
    """Return the tables that a statement drops; None: all temporary ones."""
    if _DISCARD.fullmatch(text):
        return None
    found = _DROP.fullmatch(text)
    if found is None:
        return frozenset()
    return frozenset(_unquoted(name.rpartition(" . ")[2]) for name in found["names"].split(" , "))


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name[0] == '"' else name
