"""The form of a column's type: one text for all texts that PostgreSQL takes as one value."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

from traces.importers import numbers_as_text
from traces.importers.postgresql import times_as_text

Form = Callable[[str], str]
"""Makes of a value, as it is written, the one form of its type.

Raises a ValueError where the value is in no form that is known."""

_WHOLE = frozenset(
    {
        *("smallint", "int", "integer", "bigint", "int2", "int4", "int8", "oid", "xid", "xid8"),
        *("smallserial", "serial", "bigserial", "serial2", "serial4", "serial8"),
    }
)
_TEXT = frozenset({"text", "varchar", "character varying", "name", "enum", '"char"'})
_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})
_TYPE = re.compile(
    r"(?:pg_catalog\.)?(?P<name>[^(\[]+?)\s*(?:\((?P<size>[^)]*)\))?(?P<array>\[.*)?"
)
_ESCAPED_BYTE = re.compile(r"\\(\\|[0-3][0-7]{2})|([^\\])", re.DOTALL)


def form_of(kind: str, named: Mapping[str, str], *, stored: bool) -> Form | None:
    """The form of a type.

    Args:
        kind: as SQL: `numeric(10, 2)`, `timestamptz`.
        named: what types that were made with `CREATE DOMAIN` and `CREATE TYPE` stand for.
        stored: whether values are written into the column, which cuts them to its size, or are
            compared with what is in it.

    Returns:
        None: values are equal where their texts are.
    """
    found = _TYPE.fullmatch(_resolved(kind, named))
    if found is None or found["array"]:
        return unknown_type
    name = found["name"].lower()
    size = [int(part) for part in (found["size"] or "").split(",") if part.strip().isdecimal()]
    if name in _TEXT:
        return None
    if name in _WHOLE:
        return numbers_as_text.stored_whole if stored else numbers_as_text.whole
    if name in ("decimal", "numeric"):
        scale = (size[1] if len(size) > 1 else 0) if size and stored else None
        return partial(numbers_as_text.number, scale=scale)
    if name in ("timestamp", "timestamptz", "time", "timetz"):
        # Only what is stored is rounded.
        digits = min(size[0], 6) if size and stored else 6
        return partial(_TIMES[name], digits=digits)
    if name == "float" and size and size[0] <= 24:
        return numbers_as_text.real
    return _FORMS.get(name.rsplit(".", 1)[-1] if "citext" in name else name, unknown_type)


def unknown_type(text: str) -> str:
    """The form of a type that is not known here."""
    raise ValueError(f"{text!r} is of a type whose forms are not known")


def _resolved(kind: str, named: Mapping[str, str]) -> str:
    """A type without the names that were given to it."""
    for _ in range(len(named) + 1):
        further = named.get(kind.removeprefix("public.").replace('"', ""))
        if further is None:
            break
        kind = further
    return kind


def _boolean(text: str) -> str:
    word = text.strip().lower()
    if word in _TRUE:
        return "true"
    if word in _FALSE:
        return "false"
    raise ValueError(f"{text!r} is no boolean")


def _uuid(text: str) -> str:
    digits = text.strip().removeprefix("{").removesuffix("}").replace("-", "").lower()
    if len(digits) != 32 or int(digits, 16) < 0:
        raise ValueError(f"{text!r} is no uuid")
    places = (0, 8, 12, 16, 20, 32)
    return "-".join(digits[at:to] for at, to in pairwise(places))


def _bytes(text: str) -> str:
    if text[:2].lower() == "\\x":
        return "\\x" + bytes.fromhex(text[2:]).hex()
    if _ESCAPED_BYTE.sub("", text):
        raise ValueError(f"{text!r} is no bytea")
    return "\\x" + b"".join(_byte(one) for one in _ESCAPED_BYTE.finditer(text)).hex()


def _byte(found: re.Match[str]) -> bytes:
    if found[2] is not None:
        return found[2].encode()
    return b"\\" if found[1] == "\\" else bytes([int(found[1], 8)])


def _padded(text: str) -> str:
    return text.rstrip(" ")


def _address(text: str) -> str:
    one = ipaddress.ip_interface(text.strip())
    full = one.network.prefixlen == one.max_prefixlen
    return str(one.ip) if full else str(one)


def _hardware_address(text: str) -> str:
    digits = re.sub(r"[:.-]", "", text.strip()).lower()
    if len(digits) not in (12, 16) or int(digits, 16) < 0:
        raise ValueError(f"{text!r} is no hardware address")
    return ":".join(digits[place : place + 2] for place in range(0, len(digits), 2))


_TIMES: Mapping[str, Callable[..., str]] = {
    "timestamp": times_as_text.moment,
    "timestamptz": times_as_text.instant,
    "time": times_as_text.clock,
    "timetz": times_as_text.clock_with_zone,
}
_FORMS: Mapping[str, Form] = {
    "double precision": numbers_as_text.double,
    "float": numbers_as_text.double,
    "float8": numbers_as_text.double,
    "real": numbers_as_text.real,
    "float4": numbers_as_text.real,
    "boolean": _boolean,
    "bool": _boolean,
    "uuid": _uuid,
    "bytea": _bytes,
    "char": _padded,
    "character": _padded,
    "bpchar": _padded,
    "citext": str.lower,
    "date": times_as_text.day,
    "inet": _address,
    "cidr": _address,
    "macaddr": _hardware_address,
    "macaddr8": _hardware_address,
}
