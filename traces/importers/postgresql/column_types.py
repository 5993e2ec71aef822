"""Canonical forms of values by type: one text for all texts that PostgreSQL considers equal."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

from traces.importers import numbers_as_text
from traces.importers.postgresql import times_as_text

Form = Callable[[str], str]
"""Converts a value into the canonical form of its type.

It raises a ValueError if the value's form is unknown."""

NAME_BYTES_MAX = 63

_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(("smallint", "int", "integer", "bigint", "int2", "int4", "int8"), "whole"),
    **dict.fromkeys(("smallserial", "serial", "bigserial", "serial2"), "whole"),
    **dict.fromkeys(("serial4", "serial8", "oid", "xid", "xid8"), "whole"),
    **dict.fromkeys(("decimal", "numeric"), "numeric"),
    **dict.fromkeys(("double precision", "float", "float8"), "double"),
    **dict.fromkeys(("real", "float4"), "real"),
    **dict.fromkeys(("text", "varchar", "character varying"), "text"),
    **dict.fromkeys(("char", "character", "bpchar"), "padded"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    '"char"': "byte",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "time without time zone": "time",
    "time with time zone": "timetz",
}
"""Types with several names, or that behave as another; any other is its own family."""

_TRUE = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})
_OF_A_SCHEMA = frozenset({"citext"})
"""Types of extensions, which may be in any schema."""

_TYPE = re.compile(
    r"(?:pg_catalog\.)?(?P<name>[^(\[]+?)\s*(?:\((?P<size>[^)]*)\))?(?P<array>\[.*)?"
)
_ESCAPED_BYTE = re.compile(r"\\(\\|[0-3][0-7]{2})|([^\\])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type.

    Attributes:
        family: types of one family differ only in their size; empty: an array.
        size: the numbers in parentheses, if there are any.
    """

    family: str
    size: tuple[int, ...] = ()


@lru_cache(maxsize=1024)
def sql_type(kind: str) -> SqlType:
    """Return a type by its name, such as `numeric(10, 2)`."""
    found = _TYPE.fullmatch(kind)
    if found is None or found["array"]:
        return SqlType("")
    name = found["name"].lower()
    size = tuple(
        int(digits) for digits in (found["size"] or "").split(",") if digits.strip().isdecimal()
    )
    if name == "float":
        return SqlType("real" if size and size[0] <= 24 else "double")
    if name in ("char", "character") and not size:
        size = (1,)
    plain = name.rpartition(".")[2]
    return SqlType(plain if plain in _OF_A_SCHEMA else _FAMILIES.get(name, name), size)


def form_of(kind: str, named: Mapping[str, str], *, stored: bool) -> Form | None:
    """Return the form of a type.

    Args:
        kind: the type as SQL: `numeric(10, 2)`, `timestamptz`.
        named: the types behind those of `CREATE DOMAIN` and `CREATE TYPE`.
        stored: whether values are written into the column, which cuts them to its size, or compared
            with its values.

    Returns:
        None: values are equal if their texts are.
    """
    of = sql_type(resolved(kind, named))
    if of.family in ("text", "enum"):
        return None
    if of.family == "whole" and stored:
        return numbers_as_text.stored_whole
    if of.family == "numeric" and of.size and stored:
        return partial(numbers_as_text.number, scale=of.size[1] if len(of.size) > 1 else 0)
    if of.family in _TIMES and of.size and stored:
        # Only stored values are rounded.
        return partial(_TIMES[of.family], digits=min(of.size[0], times_as_text.MICROSECONDS))
    return FORMS.get(of.family, unknown_type)


def unknown_type(text: str) -> str:
    """Reject the values of an unknown type."""
    raise ValueError(f"{text!r} is of a type with unknown forms")


def resolved(kind: str, named: Mapping[str, str]) -> str:
    """Return a type without user-defined names, as `form_of` takes them."""
    for _ in range(len(named) + 1):
        further = named.get(kind.removeprefix("public.").replace('"', ""))
        if further is None:
            break
        kind = further
    return kind


class NoRowError(ValueError):
    """No value of the column equals the constant."""


def _whole(text: str) -> str:
    made = numbers_as_text.whole(text)
    if not made.removeprefix("-").isdecimal():
        raise NoRowError(f"{text!r} is not an integer")
    return made


def _boolean(text: str) -> str:
    word = text.strip().lower()
    if word in _TRUE:
        return "true"
    if word in _FALSE:
        return "false"
    raise ValueError(f"{text!r} is not a boolean")


def _uuid(text: str) -> str:
    digits = text.strip().removeprefix("{").removesuffix("}").replace("-", "").lower()
    if len(digits) != 32 or int(digits, 16) < 0:
        raise ValueError(f"{text!r} is not a uuid")
    places = (0, 8, 12, 16, 20, 32)
    return "-".join(digits[at:to] for at, to in pairwise(places))


def _bytes(text: str) -> str:
    if text[:2].lower() == "\\x":
        return "\\x" + bytes.fromhex(text[2:]).hex()
    if _ESCAPED_BYTE.sub("", text):
        raise ValueError(f"{text!r} is not a bytea")
    return "\\x" + b"".join(_byte(match) for match in _ESCAPED_BYTE.finditer(text)).hex()


def _byte(found: re.Match[str]) -> bytes:
    if found[2] is not None:
        return found[2].encode()
    return b"\\" if found[1] == "\\" else bytes([int(found[1], 8)])


def _padded(text: str) -> str:
    return text.rstrip(" ")


def _address(text: str) -> str:
    interface = ipaddress.ip_interface(text.strip())
    full = interface.network.prefixlen == interface.max_prefixlen
    return str(interface.ip) if full else str(interface)


def _hardware_address(text: str) -> str:
    return _bytes_of_an_address(text, 6)


def _long_hardware_address(text: str) -> str:
    """Return an address of eight bytes; one of six is extended in the middle."""
    try:
        short = _hardware_address(text)
    except ValueError:
        return _bytes_of_an_address(text, 8)
    return f"{short[:8]}:ff:fe:{short[9:]}"


def _bytes_of_an_address(text: str, count: int) -> str:
    digits = re.sub(r"[:.-]", "", text.strip()).lower()
    if len(digits) != 2 * count or int(digits, 16) < 0:
        raise ValueError(f"{text!r} is not a hardware address")
    return ":".join(digits[place : place + 2] for place in range(0, len(digits), 2))


def cut_name(text: str) -> str:
    """Return a value of `name`, which holds 63 bytes of the server's encoding.

    Raises:
        ValueError: the truncation depends on that encoding.
    """
    if not text.isascii() and len(text.encode()) > NAME_BYTES_MAX:
        raise ValueError(f"{text!r} is truncated depending on the server's encoding")
    return text[:NAME_BYTES_MAX]


def first_byte(text: str) -> str:
    """Return a value of `"char"`, which is one byte.

    Raises:
        ValueError: the byte depends on the server's encoding.
    """
    if not text[:1].isascii():
        raise ValueError(f"{text!r} is more than a byte")
    return text[:1]


_TIMES: Mapping[str, Callable[..., str]] = {
    "timestamp": times_as_text.moment,
    "timestamptz": times_as_text.instant,
    "time": times_as_text.clock,
    "timetz": times_as_text.clock_with_zone,
}
FORMS: Mapping[str, Form] = {
    **_TIMES,
    "whole": _whole,
    "numeric": numbers_as_text.number,
    "double": numbers_as_text.double,
    "real": numbers_as_text.real,
    "boolean": _boolean,
    "uuid": _uuid,
    "bytea": _bytes,
    "padded": _padded,
    "citext": str.lower,
    "name": cut_name,
    "byte": first_byte,
    "date": times_as_text.day,
    "inet": _address,
    "cidr": _address,
    "macaddr": _hardware_address,
    "macaddr8": _long_hardware_address,
}
"""The forms of compared values, by the family of their type."""
