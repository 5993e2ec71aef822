"""Normalizes columns of keys, so that equal values match whatever their type and width."""

from __future__ import annotations

from collections.abc import Callable, Collection
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traces.importers.log_rows import mask_of
from traces.importers.numbers_as_text import number

NO_VALUE = (
    *("NULL", "null", "Null", r"\N", "None"),
    *("NaN", "nan", "NAN", "NaT", "<NA>", "<null>"),
)
"""Words that programs write for a missing value."""

_POINTED = r"^-?[0-9]+\.0*$"
_ZERO = r"^-(0+\.0*)$", r"\1"
_EXPONENT_OF_UNIT = {"s": "", "ms": "e-3", "us": "e-6", "ns": "e-9"}
_FRACTION_ZEROS = (r"(\.[0-9]*?)0+(Z?)$", r"\1\2"), (r"\.(Z?)$", r"\1")


def key_column(column: pa.Array, no_value: Collection[str] = NO_VALUE) -> pa.Array:
    """Return a column in which equal keys have equal values; null for missing values.

    A whole number has no point: `7`, `7.0` of any width and the text `7.0` are equal.

    Args:
        column: a column of any plain type.
        no_value: texts that stand for a missing value.
    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _of_extension(column)
    if pa.types.is_floating(kind):
        return _of_floats(column)
    if pa.types.is_decimal(kind):
        return _each(column.cast(pa.string()), number)
    if pa.types.is_temporal(kind):
        return _of_times(column)
    if pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.binary())
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _of_text(column, no_value)
    return column


def pointed(column: pa.Array) -> np.ndarray:
    """Return a mask of the texts that are whole numbers with a point, such as `7.0`."""
    if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        return np.zeros(len(column), bool)
    return mask_of(pc.match_substring_regex(column, _POINTED))


def number_column(column: pa.Array) -> pa.Array:
    """Normalize numbers in any notation, such as `007` and `7e0`; null if it is no number."""
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return _each(_decoded(column), _number_or_none)
    return column


def _number_or_none(text: str) -> str | None:
    try:
        plain = number(text)
    except ValueError:
        return None
    return None if plain == "NaN" else plain


def _of_text(column: pa.Array, no_value: Collection[str]) -> pa.Array:
    text = column.cast(pa.binary())
    words = pa.array([word.encode() for word in no_value], pa.binary())
    text = pc.if_else(pc.is_in(text, words), pa.scalar(None, pa.binary()), text)
    text = pc.replace_substring_regex(text, *_ZERO)
    return pc.replace_substring_regex(text, r"^(-?[0-9]+)\.0*$", r"\1")


def _of_floats(column: pa.Array) -> pa.Array:
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return _each(column.cast(pa.string()), number)


def _of_times(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_date64(kind):
        column = column.cast(pa.date32())
    elif pa.types.is_timestamp(kind) and kind.tz is not None:
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    elif pa.types.is_duration(kind):
        exponent = _EXPONENT_OF_UNIT[kind.unit]
        return _each(column.cast(pa.int64()).cast(pa.string()), lambda n: number(f"{n}{exponent}"))
    text = column.cast(pa.string())
    if pa.types.is_date(kind):
        return text
    for pattern, other in _FRACTION_ZEROS:
        text = pc.replace_substring_regex(text, pattern, other)
    return text


def _of_extension(column: pa.Array) -> pa.Array:
    storage = column.storage
    if column.type.extension_name != "arrow.uuid":
        return key_column(storage)
    texts = [None if value is None else str(UUID(bytes=value)) for value in storage.to_pylist()]
    return pa.array(texts, pa.string())


def _each(column: pa.Array, make: Callable[[str], str | None]) -> pa.Array:
    """Apply a function to each value; each distinct value is computed once."""
    encoded = column.dictionary_encode()
    made = [make(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(made, pa.string()).take(encoded.indices)


def _decoded(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.binary()).to_pylist()
    return pa.array(
        [None if value is None else value.decode(errors="replace") for value in texts], pa.string()
    )
