"""Compares constants as PostgreSQL orders them."""

from __future__ import annotations

import re
from decimal import Decimal

from traces.importers import numbers_as_text
from traces.importers.postgresql import times_as_text
from traces.importers.postgresql.casts import UNKNOWN, Value
from traces.importers.postgresql.column_types import FORMS

_BINARY = frozenset({"double", "real"})
_NUMBERS = frozenset({"whole", "numeric"}) | _BINARY
_ORDERED_AS_TEXT = frozenset(
    {"date", "timestamp", "timestamptz", "time", "uuid", "bytea", "boolean"}
)
"""Types whose canonical forms sort as their values do."""
_OF_FOUR_DIGITS = re.compile(r"\d{4}-(?!.*BC)")
_TEXTS = frozenset({"text", "name"})
_EQUAL_AS_TEXT = frozenset({"padded", "citext", "enum", "byte", "inet", "cidr", "macaddr"})
_ORDERS = {
    "=": (0,),
    "<>": (-1, 1),
    "<": (-1,),
    "<=": (-1, 0),
    ">": (1,),
    ">=": (0, 1),
}


class IncomparableError(ValueError):
    """The order of two values is unknown."""


def fulfils(left: Value, operator: str, right: Value) -> bool:
    """Whether the comparison of two constants holds.

    Args:
        left: the left side; if its type is unknown, it takes the type of the other.
        operator: a key of `_ORDERS`.
        right: the right side.

    Raises:
        IncomparableError: the order is unknown.
    """
    try:
        order = _order(*_of_one_type(left, right))
    except (ValueError, ArithmeticError):
        raise IncomparableError(f"{left.text!r} {operator} {right.text!r}") from None
    if order is not None:
        return order in _ORDERS[operator]
    if operator in ("=", "<>"):
        return operator == "<>"
    raise IncomparableError(f"{left.text!r} {operator} {right.text!r}")


def of_type(value: Value, family: str) -> Value:
    """Return a constant of an unknown type as one of `family`; others are unchanged.

    Raises:
        ValueError: it is not a value of this type.
    """
    if value.family != UNKNOWN or family == UNKNOWN:
        return value
    if family == "whole":  # the type of an unknown column may be any type of numbers
        return Value("numeric", numbers_as_text.number(value.text))
    form = FORMS.get(family)
    return Value(family, value.text if form is None else form(value.text))


def _of_one_type(left: Value, right: Value) -> tuple[Value, Value]:
    left, right = of_type(left, right.family), of_type(right, left.family)
    families = {left.family, right.family}
    if families == {"date", "timestamp"}:
        left, right = (
            Value("timestamp", times_as_text.moment(value.text)) for value in (left, right)
        )
    return left, right


def _order(left: Value, right: Value) -> int | None:
    """Return -1, 0 or 1 if left is less, equal or greater; None: unequal and unordered."""
    families = {left.family, right.family}
    if families <= _NUMBERS:
        if "NaN" in (left.text, right.text):
            raise IncomparableError("NaN")
        if families & _BINARY:
            return _sign(float(left.text), float(right.text))
        return _sign(Decimal(left.text), Decimal(right.text))
    if families <= _TEXTS or (len(families) == 1 and families <= {UNKNOWN, *_EQUAL_AS_TEXT}):
        return 0 if left.text == right.text else None
    if len(families) > 1 or not families <= _ORDERED_AS_TEXT:
        raise IncomparableError(f"{left.family}, {right.family}")
    plain = all(_OF_FOUR_DIGITS.match(value.text) for value in (left, right))
    if left.family in ("date", "timestamp", "timestamptz") and not plain:
        return 0 if left.text == right.text else None
    return _sign(left.text, right.text)


def _sign(left: float | Decimal | str, right: float | Decimal | str) -> int:
    greater, less = left > right, left < right  # type: ignore[operator]
    return int(greater) - int(less)
