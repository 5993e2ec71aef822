"""Evaluates casts of constants as PostgreSQL does: `7.6::int` is 8."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from traces.importers import numbers_as_text
from traces.importers.postgresql import literals, times_as_text
from traces.importers.postgresql.column_types import (
    FORMS,
    NoRowError,
    SqlType,
    cut_name,
    first_byte,
    sql_type,
)
from traces.importers.postgresql.times_as_text import ZonelessError

UNKNOWN = "unknown"
"""The type of a string until the context determines it."""

_BITS = "bits"
_TEXTS = frozenset({UNKNOWN, "text", "padded", "name", "enum", "citext"})
_EXACT_INTEGERS = 1 << 53
"""Above it, several integers equal the same `double precision` number."""


class UnknownCastError(ValueError):
    """The result of a cast depends on more than the value, or the cast is not implemented."""


@dataclass(frozen=True, slots=True)
class Value:
    """A constant with its type.

    Attributes:
        family: the family of its type, see `SqlType`.
        text: its text as PostgreSQL writes it; numbers of `numeric` keep their zeros.
    """

    family: str
    text: str


def cast_constant(literal: str, casts: Sequence[SqlType], column: SqlType | None) -> str:
    """Return the key that a constant becomes after its casts.

    Args:
        literal: the constant as a statement writes it, without casts, quoted or not.
        casts: its casts, the innermost first.
        column: the type of the key; None: unknown.

    Raises:
        ZonelessError: the result has no zone, but the column has one.
        NoRowError: no value of the column equals it.
        ValueError: the result is unknown.
    """
    try:
        value = value_after(literal, casts)
    except ZonelessError:
        if column is not None and column.family == casts[-1].family:
            raise
        raise UnknownCastError(f"{literal} depends on the session's zone") from None
    return _compared(value, column)


def value_after(literal: str, casts: Sequence[SqlType]) -> Value:
    """Return a constant after its casts; the arguments are those of `cast_constant`.

    Raises:
        ValueError: the result is unknown.
    """
    value = _value_of(literal)
    for place, to in enumerate(casts):
        try:
            value = _cast(value, to)
        except ZonelessError:
            if to.family == casts[-1].family and place == len(casts) - 1:
                raise
            raise UnknownCastError(f"{literal} depends on the session's zone") from None
    return value


def stored_constant(literal: str, casts: Sequence[SqlType], column: SqlType | None) -> str:
    """Return `cast_constant` for a value that is written into the column."""
    return cast_constant(literal, casts if column is None else (*casts, column), column)


def parameter(literal: str, kind: str) -> str:
    """Return a literal as the value of a parameter of a type, ignoring the type's size.

    Returns:
        The same literal if the value is unknown.
    """
    try:
        value = _cast(_value_of(literal), SqlType(sql_type(kind).family))
        if value.family in ("numeric", "double") and value.text[-1].isdecimal():
            return value.text  # a text would be converted when compared with other types
        return literals.quoted(value.text)
    except (ValueError, OverflowError):
        return literal


def _value_of(literal: str) -> Value:
    if literal[0] == "'":
        return Value(UNKNOWN, literals.value(literal))
    if literal in ("true", "false"):
        return Value("boolean", literal)
    text = numbers_as_text.number(literal)
    is_whole = literal.lstrip("+-").replace("_", "").isdecimal() or "x" in literal.lower()
    return Value("whole", text) if is_whole else Value("numeric", _decimal(literal))


def _cast(value: Value, to: SqlType) -> Value:
    if to.family in ("binary_digits", "hex_digits"):
        base = 2 if to.family == "binary_digits" else 16
        width = len(value.text) * (base.bit_length() - 1)
        return Value(_BITS, f"{int(value.text, base):0{width}b}" if value.text else "")
    make = _CASTS.get(to.family)
    if make is None:
        raise UnknownCastError(f"{value.text!r} is cast to an unknown type")
    return Value(to.family, make(value, to.size))


def _compared(value: Value, column: SqlType | None) -> str:
    """Return a value in the form of the column that it is compared with."""
    if column is None:
        return numbers_as_text.number(value.text) if value.family == "numeric" else value.text
    compare = _COMPARED.get(column.family, {}).get(value.family)
    if compare is None:
        raise UnknownCastError(f"{value.text!r} is of another type than its column")
    return compare(value.text)


def _unlike(value: Value) -> UnknownCastError:
    return UnknownCastError(f"{value.text!r} can't be cast without the server")


def _decimal(text: str) -> str:
    """Return a number with the zeros after its point, as `numeric` keeps them."""
    numbers_as_text.number(text)  # rejects other texts, and numbers that are too long
    value = Decimal(text.strip())
    return f"{abs(value) if value.is_zero() else value:f}" if value.is_finite() else str(value)


def _as_text(value: Value, size: tuple[int, ...]) -> str:
    if value.family not in (*_TEXTS, "whole", "numeric", "boolean", "uuid"):
        raise _unlike(value)  # for example times, whose text depends on the session's settings
    return value.text[: size[0]] if size else value.text


def _as_padded(value: Value, size: tuple[int, ...]) -> str:
    return _as_text(value, size).rstrip(" ")


def _as_whole(value: Value, size: tuple[int, ...]) -> str:
    if value.family == "boolean":
        return str(int(value.text == "true"))
    if value.family == _BITS:
        if value.text[:1] == "1" and len(value.text) in (32, 64):
            raise _unlike(value)  # may be the sign
        return str(int(value.text or "0", 2))
    if value.family in ("double", "real"):
        return str(round(float(value.text)))
    made = numbers_as_text.number(value.text, 0 if value.family == "numeric" else None)
    if value.family not in (*_TEXTS, "whole", "numeric") or not made.lstrip("-").isdecimal():
        raise _unlike(value)
    return made


def _as_numeric(value: Value, size: tuple[int, ...]) -> str:
    if value.family in ("double", "real"):
        digits = 15 if value.family == "double" else 6
        text = f"{float(value.text):.{digits}g}"
    elif value.family in (*_TEXTS, "whole", "numeric"):
        text = value.text
    else:
        raise _unlike(value)
    if not size:
        return _decimal(text)
    scale = size[1] if len(size) > 1 else 0
    rounded = numbers_as_text.number(text, scale)
    return _decimal(f"{Decimal(rounded):.{scale}f}")


def _as_double(value: Value, size: tuple[int, ...]) -> str:
    if value.family not in (*_TEXTS, "whole", "numeric", "double", "real"):
        raise _unlike(value)
    return numbers_as_text.double(value.text)


def _as_real(value: Value, size: tuple[int, ...]) -> str:
    return numbers_as_text.real(_as_double(value, size))


def _as_boolean(value: Value, size: tuple[int, ...]) -> str:
    if value.family == "whole":
        return str(value.text != "0").lower()
    return _read(value, "boolean")


def _read(value: Value, family: str, *alike: str) -> str:
    """Parse a text as a value of the type; values of the type itself, or of `alike`, stay."""
    if value.family in (family, *alike):
        return value.text
    if value.family in _TEXTS:
        return FORMS[family](value.text)
    raise _unlike(value)


def _reader(family: str, *alike: str) -> Callable[[Value, tuple[int, ...]], str]:
    return lambda value, size: _read(value, family, *alike)


def _as_date(value: Value, size: tuple[int, ...]) -> str:
    return times_as_text.day(_read(value, "date", "timestamp"))


def _as_timestamp(value: Value, size: tuple[int, ...]) -> str:
    if value.family not in (*_TEXTS, "date", "timestamp"):
        raise _unlike(value)
    return times_as_text.moment(value.text, _digits(size))


def _as_timestamptz(value: Value, size: tuple[int, ...]) -> str:
    if value.family == "timestamptz":
        return times_as_text.moment(value.text, _digits(size))
    if value.family not in (*_TEXTS, "date", "timestamp"):
        raise _unlike(value)
    return times_as_text.instant(value.text, _digits(size))


def _as_time(value: Value, size: tuple[int, ...]) -> str:
    if value.family == "timestamp":
        value = Value("time", value.text.partition(" ")[2])
    if value.family not in (*_TEXTS, "time"):
        raise _unlike(value)
    return times_as_text.clock(value.text, _digits(size))


def _as_timetz(value: Value, size: tuple[int, ...]) -> str:
    if value.family not in _TEXTS:
        raise _unlike(value)
    return times_as_text.clock_with_zone(value.text, _digits(size))


def _digits(size: tuple[int, ...]) -> int:
    return min(size[0], times_as_text.MICROSECONDS) if size else times_as_text.MICROSECONDS


_CASTS: Mapping[str, Callable[[Value, tuple[int, ...]], str]] = {
    "text": _as_text,
    "padded": _as_padded,
    "citext": _as_text,
    "enum": _as_text,
    "name": lambda value, size: cut_name(_as_text(value, size)),
    "byte": lambda value, size: first_byte(_as_text(value, size)),
    "whole": _as_whole,
    "numeric": _as_numeric,
    "double": _as_double,
    "real": _as_real,
    "boolean": _as_boolean,
    "date": _as_date,
    "timestamp": _as_timestamp,
    "timestamptz": _as_timestamptz,
    "time": _as_time,
    "timetz": _as_timetz,
    "uuid": _reader("uuid"),
    "bytea": _reader("bytea"),
    "inet": _reader("inet", "cidr"),
    "cidr": _reader("cidr"),
    "macaddr": _reader("macaddr"),
    "macaddr8": _reader("macaddr8"),
}
"""The casts, by the family of the target type."""


def _as_it_is(text: str) -> str:
    return text


def _without_blanks(text: str) -> str:
    if text.endswith(" "):
        raise NoRowError(f"{text!r} ends in a blank, and no value of its column does")
    return text


def _integer(text: str) -> str:
    made = numbers_as_text.number(text)
    if not made.removeprefix("-").isdecimal():
        raise NoRowError(f"{text!r} is not an integer")
    return made


def _exact(text: str) -> str:
    """Return an integer that `double precision` represents exactly."""
    value = float(text)
    if not value.is_integer():
        raise NoRowError(f"{text!r} is not an integer")
    if abs(value) >= _EXACT_INTEGERS:
        raise UnknownCastError(f"{text!r} is not exactly an integer")
    return str(int(value))


def _exact_real(text: str) -> str:
    try:
        value = numbers_as_text.real(text)
    except ValueError:
        value = ""
    if value != numbers_as_text.double(text):
        raise NoRowError(f"{text!r} is not a value of its column")
    return value


def _midnight(text: str) -> str:
    day, _, clock = text.partition(" ")
    if clock not in ("", "00:00:00"):
        raise NoRowError(f"{text!r} is not a value of its column")
    return day


_SAME = ("boolean", "uuid", "bytea", "byte", "macaddr", "macaddr8", "time", "timetz")
_COMPARED: Mapping[str, Mapping[str, Callable[[str], str]]] = {
    **{family: {family: _as_it_is} for family in _SAME},
    "whole": {
        "whole": numbers_as_text.number,
        "numeric": _integer,
        "double": _exact,
        "real": _exact,
    },
    "numeric": {"whole": numbers_as_text.number, "numeric": numbers_as_text.number},
    "double": {
        "whole": numbers_as_text.double,
        "numeric": numbers_as_text.double,
        "double": _as_it_is,
        "real": _as_it_is,
    },
    "real": {
        "whole": _exact_real,
        "numeric": _exact_real,
        "double": _exact_real,
        "real": _as_it_is,
    },
    "text": {"text": _as_it_is, "padded": _as_it_is, "name": _as_it_is},
    "name": {"text": _as_it_is, "padded": _as_it_is, "name": _as_it_is},
    "padded": {"text": _without_blanks, "padded": _as_it_is, "name": _without_blanks},
    "enum": {"enum": _as_it_is, "text": _as_it_is},
    "citext": {"citext": str.lower},
    "date": {"date": _as_it_is, "timestamp": _midnight},
    "timestamp": {"date": times_as_text.moment, "timestamp": _as_it_is},
    "timestamptz": {
        "timestamptz": _as_it_is,
        "date": times_as_text.instant,
        "timestamp": times_as_text.instant,
    },
    "inet": {"inet": _as_it_is, "cidr": _as_it_is},
    "cidr": {"inet": _as_it_is, "cidr": _as_it_is},
}
"""The comparisons by the families of the column and the value; others are not compared."""
