"""The integers that represent keys, sessions and users in a trace."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HASH_BITS = 63
_INTEGER = r"^(0|-?[1-9][0-9]{0,18})$"
"""Integers in canonical form; some with 19 digits do not fit into 64 bits."""
_LARGEST = {19: b"9223372036854775807", 20: b"-9223372036854775808"}
"""The integers furthest from 0, by the length of their text."""
_BETWEEN = "\x1f"
"""Separates the parts of a key of several columns: ASCII's unit separator."""
_NULL = "\x00"


def keys_of(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a 64-bit integer for each value; null stays null.

    Integers stay unchanged, and a text that is one (`"12"`, not `"012"`) becomes that integer, so a
    log that quotes its numbers gives the same keys. Any other value becomes the first 63 bits of
    the BLAKE2b hash of its text, which is the same in every process and on every machine.

    Args:
        column: values of any type that can be cast to text.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type) and column.type != pa.uint64():
        return column.cast(pa.int64())
    return _text_keys(_as_bytes(column))


def combined_keys(columns: list[pa.Array | pa.ChunkedArray]) -> pa.Array:
    """Return `keys_of` for keys of several columns; null where all of them are null."""
    if len(columns) == 1:
        return keys_of(columns[0])
    texts = [_as_bytes(column) for column in columns]
    between, null = (pa.scalar(marker.encode(), pa.binary()) for marker in (_BETWEEN, _NULL))
    # Nulls are replaced here, because pyarrow takes the replacement of bytes for text.
    joined = pc.binary_join_element_wise(*[text.fill_null(null) for text in texts], between)
    unknown = texts[0].is_null()
    for text in texts[1:]:
        unknown = pc.and_(unknown, text.is_null())
    return keys_of(pc.if_else(unknown, pa.scalar(None, pa.binary()), joined))


def _as_bytes(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return each value's text as bytes, whose encoding may be unknown."""
    text = column if pa.types.is_binary(column.type) else column.cast(pa.string())
    return text.cast(pa.binary())


def _text_keys(text: pa.Array) -> pa.Array:
    try:
        return _all_integers(text)
    except pa.ArrowInvalid:
        # Values repeat, so each distinct one is hashed once.
        encoded = text.dictionary_encode()
        return _mixed_keys(encoded.dictionary).take(encoded.indices)


def _all_integers(text: pa.Array) -> pa.Array:
    """Convert texts that are all integers.

    Raises:
        pa.ArrowInvalid: one of them is not.
    """
    integers = text.cast(pa.string()).cast(pa.int64())
    if pc.any(pc.not_equal(integers.cast(pa.string()).cast(pa.binary()), text)).as_py():
        raise pa.ArrowInvalid("not in canonical form, such as 007")
    return integers


def _mixed_keys(text: pa.Array) -> pa.Array:
    whole = pc.match_substring_regex(text, _INTEGER)
    length = pc.binary_length(text)
    for characters, largest in _LARGEST.items():
        too_long = pc.and_(pc.equal(length, characters), pc.greater(text, largest))
        whole = pc.and_not(whole, too_long)
    integers = pc.if_else(whole, text, None).cast(pa.string()).cast(pa.int64())
    return pc.replace_with_mask(integers, pc.invert(whole), _hashes(text.filter(pc.invert(whole))))


def _hashes(text: pa.Array) -> pa.Array:
    digests = b"".join([blake2b(value, digest_size=8).digest() for value in text.to_pylist()])
    return pa.array((np.frombuffer(digests, ">u8") >> (64 - HASH_BITS)).astype(np.int64))
