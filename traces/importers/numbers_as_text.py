"""Numbers in the one form that all ways to write them have in common."""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

DIGITS_MAX = 400
"""A number whose plain form would be longer is none here."""

_EXACT = Context(prec=4 * DIGITS_MAX, rounding=ROUND_HALF_UP)
_RADIX = ("0x", "0o", "0b")


def number(text: str, scale: int | None = None) -> str:
    """A number without leading and trailing zeros, sign of plus and exponent: `7`, `-0.5`.

    Args:
        text: however it is written: `007`, `+7.00`, `7e0`, `0x7`, `NaN`.
        scale: digits kept after the point, the last one rounded; None: all.

    Raises:
        ValueError: it is no number, or has more than `DIGITS_MAX` digits.
    """
    plain = text.strip()
    if plain.lower().lstrip("+-")[:2] in _RADIX:
        return str(int(plain, 0))
    try:
        value = Decimal(plain)
    except InvalidOperation:
        raise ValueError(f"{text!r} is no number") from None
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
    """A number of more than `DIGITS_MAX` digits in the one form that all ways to write it share.

    Raises:
        ValueError: it is no number, or its exponent has too many digits.
    """
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is no number") from None
    if not value.is_finite():
        return number(text)
    sign, digits, _ = value.as_tuple()
    plain = "".join(map(str, digits)).rstrip("0") or "0"
    minus = "-" if sign and plain != "0" else ""
    return f"{minus}{plain[0]}.{plain[1:] or '0'}e{value.adjusted() if plain != '0' else 0}"


def whole(text: str) -> str:
    """A number of a column of integers, as `number`; most are in that form already."""
    if text.isdecimal() and text[0] != "0" and text.isascii():
        return text
    return number(text)


def stored_whole(text: str) -> str:
    """An integer as it is stored: rounded."""
    return number(text, 0)


def double(text: str) -> str:
    """A number of a column of `double precision`: the shortest that means the same."""
    value = float(text)
    if value.is_integer():
        return str(int(value))
    return "NaN" if math.isnan(value) else repr(value)


def real(text: str) -> str:
    """A number of a column of `real`, which has 24 bits."""
    value = float(text)
    if not math.isfinite(value):
        return double(text)
    try:
        return double(repr(struct.unpack("<f", struct.pack("<f", value))[0]))
    except OverflowError:
        raise ValueError(f"{text!r} is out of range") from None
