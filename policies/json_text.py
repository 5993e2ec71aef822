"""Strict JSON: what a policy file may be made of, and on which line a value stands."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from policies.errors import PolicyFileError, cut

JsonPath = tuple[str | int, ...]
"""Where a value is in a document: object keys and list positions, from the top."""

_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class DocumentKind:
    """How messages speak of a kind of document.

    Attributes:
        name: with its article, such as `a policy`.
        shape: what the whole of it is.
        cure: how to get one that is right.
        file: what a file of it is usually called.
        mib_max: a larger file is refused unread.
    """

    name: str
    shape: str
    cure: str
    file: str
    mib_max: int


POLICY = DocumentKind(
    name="a policy",
    shape="one JSON object",
    cure="write the file anew with `heddle policy show NAME --json`",
    file="policy.json",
    mib_max=16,  # the largest tables are below 1 MiB
)


def parse(text: str, source: str, kind: DocumentKind = POLICY) -> Any:
    """Parse strict JSON: no NaN or Infinity, no key twice in one object, no lone surrogates.

    Args:
        text: the JSON text.
        source: how messages call it, usually the file's name.
        kind: what it should be, for the messages.

    Raises:
        PolicyFileError: The text is not strict JSON; the message names the line and the cure.
    """
    if not text.strip():
        raise PolicyFileError(f"{source}: the file is empty; {kind.name} is {kind.shape}")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
        )
        text.encode()
        if "\\u" in text:  # what else could have put halves of surrogate pairs into it?
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise PolicyFileError(
            f"{source}:{error.lineno}: not JSON: {error.msg} (column {error.colno}); "
            f"correct this line, or {kind.cure}"
        ) from None
    except _RefusedError as refused:
        line = _line_of_text(text, refused.token)
        raise PolicyFileError(f"{source}:{line}: {refused}") from None
    except RecursionError:
        raise PolicyFileError(
            f"{source}: nested too deeply; {kind.name} has no more than a few levels"
        ) from None
    except UnicodeEncodeError:
        raise PolicyFileError(
            f"{source}: a text holds half of a surrogate pair (\\ud800 to \\udfff); remove it"
        ) from None
    except ValueError as error:
        raise PolicyFileError(f"{source}: a number is too long: {error}") from None
    return value


def line_of(text: str, path: JsonPath) -> int | None:
    """The line, from 1, on which the value at the path stands in valid JSON; None if absent.

    A path that leads nowhere gives the line of the deepest value that is there.
    """
    position = _skip_blank(text, 0)
    for step in path:
        found = next((at for key, at in _members(text, position) if key == step), None)
        if found is None:
            break
        position = found
    return text.count("\n", 0, position) + 1


class _RefusedError(Exception):
    """Valid for Python's parser, but not for a policy; `token` is where it stands."""

    def __init__(self, message: str, token: str) -> None:
        super().__init__(message)
        self.token = token


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _RefusedError(
                f"the key {cut(json.dumps(key))} is there twice in one object; keep one of them",
                json.dumps(key, ensure_ascii=False),
            )
        result[key] = value
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is not a JSON number; write a finite number or null", name)


def _finite_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _RefusedError(f"{cut(digits)} is too large for a number; write a finite one", digits)
    return value


def _line_of_text(text: str, token: str) -> int:
    # The parser tells no position for these. The last place is the offending one for a key that
    # is there twice in most files; for a constant any place is.
    return text.count("\n", 0, max(text.rfind(token), 0)) + 1


def _skip_blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _members(text: str, position: int) -> Iterator[tuple[str | int, int]]:
    """The members of the object or list that starts at the position, with their own positions."""
    decoder = json.JSONDecoder()
    opening = text[position]
    if opening not in "{[":
        return
    position = _skip_blank(text, position + 1)
    number = 0
    while text[position] not in "}]":
        key: str | int = number
        if opening == "{":
            key, position = decoder.raw_decode(text, position)
            position = _skip_blank(text, _skip_blank(text, position) + 1)
        yield key, position
        _, position = decoder.raw_decode(text, position)
        position = _skip_blank(text, position)
        if text[position] == ",":
            position = _skip_blank(text, position + 1)
        number += 1
