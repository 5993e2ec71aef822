"""Normalizes the text of numbers."""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

DIGITS_MAX = 400
"""The maximum length of a number's plain form; longer numbers are rejected."""

_EXACT = Context(prec=4 * DIGITS_MAX, rounding=ROUND_HALF_UP)
_RADIX = ("0x", "0o", "0b")


def number(text: str, scale: int | None = None) -> str:
    """Return a number without leading and trailing zeros, plus sign and exponent: `7`, `-0.5`.

    Args:
        text: the number in any notation: `007`, `+7.00`, `7e0`, `0x7`, `NaN`.
        scale: digits after the point, rounded; None: all.

    Raises:
        ValueError: the text is not a number, or has more than `DIGITS_MAX` digits.
    """
    plain = text.strip()
    if plain.lower().lstrip("+-")[:2] in _RADIX:
        return str(int(plain, 0))
    try:
        value = Decimal(plain)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None
    if not value.is_finite():
        return "NaN" if value.is_nan() else "Infinity" if value > 0 else "-Infinity"
    if abs(value.adjusted()) > DIGITS_MAX or len(value.as_tuple().digits) > DIGITS_MAX:
        raise ValueError(f"{text!r} has too many digits")
    if scale is not None:
        value = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    written = f"{value:f}"
    if "." in written:
        written = written.rstrip("0").removesuffix(".")
    return "0" if written == "-0" else written


def scientific(text: str) -> str:
    """Return a number of more than `DIGITS_MAX` digits in scientific notation.

    Raises:
        ValueError: the text is not a number, or its exponent has too many digits.
    """
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None
    if not value.is_finite():
        return number(text)
    sign, digits, _ = value.as_tuple()
    plain = "".join(map(str, digits)).rstrip("0") or "0"
    minus = "-" if sign and plain != "0" else ""
    return f"{minus}{plain[0]}.{plain[1:] or '0'}e{value.adjusted() if plain != '0' else 0}"


def whole(text: str) -> str:
    """Normalize a number of an integer column; most are in this form already."""
    if text.isdecimal() and text[0] != "0" and text.isascii():
        return text
    return number(text)


def stored_whole(text: str) -> str:
    """Return an integer as it is stored: rounded."""
    return number(text, 0)


def double(text: str) -> str:
    """Normalize a number of a `double precision` column: the shortest equal text."""
    value = float(text)
    if value.is_integer():
        return str(int(value))
    return "NaN" if math.isnan(value) else repr(value)


def real(text: str) -> str:
    """Normalize a number of a `real` column, which has 24 bits."""
    value = float(text)
    if not math.isfinite(value):
        return double(text)
    try:
        return double(repr(struct.unpack("<f", struct.pack("<f", value))[0]))
    except OverflowError:
        raise ValueError(f"{text!r} is out of range") from None
