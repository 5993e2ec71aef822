"""Hashes of keys that are the same in every process."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Hashable
from hashlib import blake2b

_AS_TEXT = (datetime.date, datetime.time, datetime.timedelta, uuid.UUID)


def stable_hash(key: Hashable) -> int:
    """Return 64 bits of a key. Keys that are equal have one hash, as with `hash`.

    Raises:
        TypeError: the text of a key of this type may differ between processes.
    """
    digest = blake2b(digest_size=8)
    _add(digest, key)
    return int.from_bytes(digest.digest(), "little", signed=True)


def _add(digest: blake2b, key: Hashable) -> None:
    if isinstance(key, tuple):
        digest.update(b"(%d" % len(key))
        for part in key:
            _add(digest, part)
        return
    if isinstance(key, str):
        kind, text = b"s", key.encode("utf-8", "surrogatepass")
    elif isinstance(key, bytes):
        kind, text = b"b", key
    elif isinstance(key, int | float | decimal.Decimal):
        kind, text = b"n", b"%d" % hash(key)  # equal numbers of all types have one hash
    elif key is None:
        kind, text = b"z", b""
    elif isinstance(key, _AS_TEXT):
        if isinstance(key, datetime.datetime) and key.tzinfo is not None:
            key = key.astimezone(datetime.UTC)
        kind, text = type(key).__name__.encode(), str(key).encode()
    else:
        raise TypeError(
            f"{key!r} is of type {type(key).__name__}: a key that several processes share is a "
            "string, bytes, a number, None, a date, a time, a UUID or a tuple of them"
        )
    digest.update(b"%b%d:" % (kind, len(text)))
    digest.update(text)
