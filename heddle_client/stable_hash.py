"""Hashes of keys that are the same in every process."""

from __future__ import annotations

import datetime
import numbers
import uuid
from collections.abc import Hashable
from hashlib import blake2b

_MICROSECOND = datetime.timedelta(microseconds=1)
_FIRST = datetime.datetime.min


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
    kind, content = _kind_and_content(key)
    digest.update(b"%b%d:" % (kind, len(content)))
    digest.update(content)


def _kind_and_content(key: Hashable) -> tuple[bytes, bytes]:
    if isinstance(key, str):
        return b"s", key.encode("utf-8", "surrogatepass")
    if isinstance(key, int | float | numbers.Number):
        return b"n", b"%d" % hash(key)  # equal numbers of all types have one hash
    if isinstance(key, bytes):
        return b"b", bytes(key)
    if key is None:
        return b"z", b""
    if isinstance(key, uuid.UUID):
        return b"u", key.bytes
    if isinstance(key, datetime.datetime):
        offset = key.utcoffset()
        past = key.replace(tzinfo=None, fold=0) - _FIRST
        return (b"d", _exact(past)) if offset is None else (b"i", _exact(past - offset))
    if isinstance(key, datetime.date):
        return b"y", b"%d" % key.toordinal()
    if isinstance(key, datetime.time):
        offset = key.utcoffset()
        past = datetime.datetime.combine(_FIRST, key.replace(tzinfo=None, fold=0)) - _FIRST
        return (b"t", _exact(past)) if offset is None else (b"o", _exact(past - offset))
    if isinstance(key, datetime.timedelta):
        return b"l", _exact(key)
    raise TypeError(
        f"{key!r} is of type {type(key).__name__}: a key that several processes share is a string, "
        "bytes, a number, None, a date, a time, a UUID or a tuple of them"
    )


def _exact(length: datetime.timedelta) -> bytes:
    return b"%d" % (length // _MICROSECOND)
