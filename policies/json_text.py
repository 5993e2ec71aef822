"""Parse strict JSON, and find the line of a value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from policies.errors import PolicyFileError, cut

JsonPath = tuple[str | int, ...]
"""The position of a value in a document, as object keys and list indexes from the top."""

_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class DocumentKind:
    """A kind of JSON document, for messages.

    Attributes:
        name: name with its article, such as `a policy`.
        shape: JSON type of the document.
        cure: how to make a valid document.
        file: usual name of its file.
        mib_max: size in MiB above which a file is not read.
    """

    name: str
    shape: str
    cure: str
    file: str
    mib_max: int


POLICY = DocumentKind(
    name="a policy",
    shape="one JSON object",
    cure="rewrite the file with `heddle policy show NAME --json`",
    file="policy.json",
    mib_max=16,  # the largest tables are below 1 MiB
)


def parse(text: str, source: str, kind: DocumentKind = POLICY) -> Any:
    """Parse strict JSON, which has no NaN, Infinity, duplicate keys or lone surrogates.

    Args:
        text: JSON text.
        source: name of the text in messages, usually the file's.
        kind: expected kind of document, for messages.

    Raises:
        PolicyFileError: the text is not strict JSON; the message names the line and how to correct
            it.
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
        if "\\u" in text:  # only an escape can produce a lone surrogate
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
            f"{source}: nested too deeply; {kind.name} has only a few levels"
        ) from None
    except UnicodeEncodeError:
        raise PolicyFileError(
            f"{source}: a text holds half of a surrogate pair (\\ud800 to \\udfff); remove it"
        ) from None
    except ValueError as error:
        raise PolicyFileError(f"{source}: a number is too long: {error}") from None
    return value


def line_of(text: str, path: JsonPath) -> int | None:
    """Return the line number, from 1, of the value at a path in valid JSON.

    If there is no such value, it is the line of the deepest existing one on the path.
    """
    position = _skip_blank(text, 0)
    for step in path:
        found = next((at for key, at in _members(text, position) if key == step), None)
        if found is None:
            break
        position = found
    return text.count("\n", 0, position) + 1


class _RefusedError(Exception):
    """The text is not strict JSON, although Python parses it; `token` is the text at fault."""

    def __init__(self, message: str, token: str) -> None:
        super().__init__(message)
        self.token = token


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _RefusedError(
                f"the key {cut(json.dumps(key))} occurs twice in one object; keep one of them",
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
    # The parser has no position for these. The last occurrence is usually the one at fault.
    return text.count("\n", 0, max(text.rfind(token), 0)) + 1


def _skip_blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _members(text: str, position: int) -> Iterator[tuple[str | int, int]]:
    """Yield the key and the position of each member of the object or list at a position."""
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
