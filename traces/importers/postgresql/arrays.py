"""Parses arrays as PostgreSQL writes them: `{1,NULL,"a b"}`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:[^,{}"\\]|\\.)+)', re.DOTALL)
_BOUNDS = re.compile(r"\s*(?:\[[^\]]*\]\s*)+=")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def array_items(text: str) -> Iterator[str | None]:
    """Yield the items of an array, in all its dimensions; None for NULL."""
    bounds = _BOUNDS.match(text)
    for item in _ITEM.finditer(text, bounds.end() if bounds else 0):
        if item[1] is not None:
            yield _ESCAPED.sub(r"\1", item[1])
        elif plain := item[2].strip():
            yield None if plain.upper() == "NULL" else _ESCAPED.sub(r"\1", plain)
