"""The shape of a statement: its tokens, with slots in place of literals.

Statements of one shape differ only in values, spaces, the case of names, the sign of numbers, and
the length of lists of rows or values: `IN (1, 2)` and `IN (3)` have one shape.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from traces.importers.postgresql.literals import folded

NULL = 0
"""Represents NULL among the positions of a slot's literals."""

_TOKEN = re.compile(r'"[^"]*(?:""[^"]*)*"|[^\W\d][\w$]*|::|[-+*/<>=~!@#%^&|`?]+|\d[\w.]*|\S')
_OPERATOR = re.compile(r"[-+*/<>=~!@#%^&|`?]+")
_ENDS_IN_SIGN = frozenset("~!@#%^&|`?")
"""Only operators with one of these may end in a sign (PostgreSQL manual, section 4.1.3)."""

_BEFORE_A_VALUE = frozenset(
    {
        *("and", "or", "not", "between", "in", "like", "ilike", "escape", "interval"),
        *("case", "when", "then", "else"),
        *("select", "from", "on", "using", "where", "by", "any", "limit", "offset", "returning"),
        *("set", "values"),
    }
)
_STRING_PREFIXES = frozenset("bxne")
_TYPE_OF_PREFIX = {"b": "binary_digits", "x": "hex_digits", "n": "bpchar"}
"""The types of `b'101'`, `x'5'` and `n'a'`, as of casts."""


Token = str | tuple[int, ...]
"""A word or a symbol; or a slot: the positions of its literals, negative after a minus."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The common part of statements.

    Attributes:
        text: the shape as text, with `?` for each slot, which identifies it.
        sql: the same with the number of the slot for each `?`, for the parser.
        slots: for each slot, the positions of its literals among the parts of the statement (see
            `traces.importers.postgresql.literals.split`): several if a list was folded, negative
            after a minus, and `NULL` for NULL.
    """

    text: str
    sql: str
    slots: tuple[tuple[int, ...], ...]


def shapes_of(parts: Sequence[str]) -> tuple[Shape, ...]:
    """Return the shapes of the statements in a text, which semicolons separate.

    Args:
        parts: gaps and literals in turn, see `traces.importers.postgresql.literals.split`.
    """
    statements: list[list[Token]] = [[]]
    for token in _tokens(parts):
        if token != ";":
            statements[-1].append(token)
        elif statements[-1] and statements[-1][0] != "create":  # a function's body has semicolons
            statements.append([])
    return tuple(_shape(_folded(tokens), parts) for tokens in statements if tokens)


def _tokens(parts: Sequence[str]) -> list[Token]:
    tokens: list[Token] = []
    for place, part in enumerate(parts):
        if place % 2:
            negative = _absorb_sign(tokens)
            prefix = _absorb_prefix(tokens, parts[place - 1]) if part[0] == "'" else ""
            tokens.append((-place,) if negative else (place,))
            if prefix in _TYPE_OF_PREFIX:
                tokens += ("::", _TYPE_OF_PREFIX[prefix])
        else:
            for token in _TOKEN.findall(part):
                _append(tokens, token)
    return tokens


def _append(tokens: list[Token], token: str) -> None:
    if token[0] == '"':
        tokens.append(token)
    elif _OPERATOR.match(token):
        tokens += _operators(token)
    elif token in ("null", "NULL", "Null") and tokens and tokens[-1] in ("=", "(", ","):
        tokens.append((NULL,))
    else:
        tokens.append(folded(token))


def _operators(run: str) -> list[str]:
    """Split operators that are written without a space: `=-` is `=` and `-`."""
    signs: list[str] = []
    while len(run) > 1 and run[-1] in "+-" and _ENDS_IN_SIGN.isdisjoint(run):
        signs.insert(0, run[-1])
        run = run[:-1]
    return [run, *signs]


def _absorb_sign(tokens: list[Token]) -> bool:
    """Remove a sign that belongs to the next literal; return whether it was a minus."""
    if not tokens or tokens[-1] not in ("-", "+"):
        return False
    if len(tokens) > 1:
        before = tokens[-2]
        if isinstance(before, tuple):
            return False
        starts = before in ("(", ",", "[") or before in _BEFORE_A_VALUE
        if not starts and not _OPERATOR.fullmatch(before):
            return False
    return tokens.pop() == "-"


def _absorb_prefix(tokens: list[Token], gap: str) -> str:
    """Remove the letter of `b'101'`, which is part of the literal if no space is between."""
    if not tokens or tokens[-1] not in _STRING_PREFIXES or gap[-1:].isspace():
        return ""
    return str(tokens.pop())


def _folded(tokens: list[Token]) -> list[Token]:
    """Fold lists of values and of rows into their first item, if all items have one shape."""
    folded: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        folded.append(token)
        place += 1
        following = tokens[place] if place < len(tokens) else None
        if (token == "in" and following == "(") or (token == "array" and following == "["):
            end, items = _items(tokens, place)
            if len(items) > 1 and (merged := _merged(items)) is not None:
                folded += [following, *merged, tokens[end]]
                place = end + 1
        elif token == "values" and following == "(":
            end, rows = _rows(tokens, place)
            if len(rows) > 1 and (merged := _merged(rows)) is not None:
                folded += ["(", *merged, ")"]
                place = end
    return folded


def _items(tokens: list[Token], start: int) -> tuple[int, list[list[Token]]]:
    """Return the end of the list that opens at `start`, and its items."""
    items: list[list[Token]] = [[]]
    depth = 0
    for place in range(start + 1, len(tokens)):
        token = tokens[place]
        if depth == 0 and token in (")", "]"):
            return place, items
        if depth == 0 and token == ",":
            items.append([])
            continue
        if token in ("(", "["):
            depth += 1
        elif token in (")", "]"):
            depth -= 1
        items[-1].append(token)
    return start, []


def _rows(tokens: list[Token], start: int) -> tuple[int, list[list[Token]]]:
    """Return the end of the list of rows at `start`, and its rows."""
    rows = []
    while _token_at(tokens, start) == "(":
        end, _ = _items(tokens, start)
        if end == start:
            break
        rows.append(tokens[start + 1 : end])
        start = end + 1
        if _token_at(tokens, start) != "," or _token_at(tokens, start + 1) != "(":
            break
        start += 1
    return start, rows


def _token_at(tokens: list[Token], place: int) -> Token | None:
    """Return the token at a position, or None."""
    return tokens[place] if place < len(tokens) else None


def _merged(items: list[list[Token]]) -> list[Token] | None:
    """Merge items into one whose slots have all literals; None if their shapes differ."""
    shape = [isinstance(token, tuple) or token for token in items[0]]
    if True not in shape:
        return None
    if any([isinstance(token, tuple) or token for token in item] != shape for item in items[1:]):
        return None
    return [
        tuple(place for slot in column for place in slot)
        if isinstance(column[0], tuple)
        else column[0]
        for column in zip(*items, strict=True)
    ]


def _shape(tokens: list[Token], parts: Sequence[str]) -> Shape:
    slots: list[tuple[int, ...]] = []
    text: list[str] = []
    sql: list[str] = []
    for token in tokens:
        if isinstance(token, str):
            text.append(token)
            sql.append(token)
        else:
            is_text = token[0] != NULL and parts[abs(token[0])][0] == "'"
            text.append("?")
            sql.append(f"'{len(slots)}'" if is_text else str(len(slots)))
            slots.append(token)
    return Shape(" ".join(text), " ".join(sql), tuple(slots))
