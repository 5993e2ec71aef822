"""Seeded mutations of policy files, of their bytes and of their values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

TOKENS = [
    *(b"null", b"true", b"0", b"-0", b"1.0", b"1e0", b"26", b"-1", b"1e999", b"1e-999", b"NaN"),
    *(b"-Infinity", b"9" * 40, b"9" * 400, b"18446744073709551616", b"9223372036854775808"),
    *(b"9" * 5000, b'"%s": 1, ' % (b"k" * 3000)),
    *(b'""', b'"NO_WAIT"', b'"COMMIT"', b'"DIRTY"', b'"\\ud800"', b'"\\u0000"', b"[]", b"{}"),
    *(
        b"[" * 40 + b"]" * 40,
        b"[" * 9000,
        b"\xff",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\0",
        b"\xef\xbb",
    ),
    *(b",", b":", b"{", b"}", b"[", b"]", b'"', b"\\", b"//", b"\r", b"\x0b", b"\xc2\xa0"),
]
"""Tokens that JSON readers treat differently, and values that belong elsewhere in a policy."""

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 5.0, 1.0, 0.5, 26, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63)),
    *(
        10**30,
        1e300,
        5e-324,
        -0.0,
        "",
        "NO_WAIT",
        "COMMIT",
        "DIRTY",
        "PUBLIC",
        "payment",
        "é\u2028",
    ),
    *("\0", "x" * 5000, [], {}, [[]], {"": None}, [1, 1, 1], [0.5, 2, 4], ["NO_WAIT"]),
]
"""Values that are valid somewhere in a policy, or nearly."""


def of_bytes(data: bytes, random: Random) -> bytes:
    """Return the text with a few bytes changed."""
    at = random.randrange(len(data))
    end = min(len(data), at + random.choice((1, 1, 2, 5, 30, 400)))
    token = random.choice(TOKENS)
    changes: list[Callable[[], bytes]] = [
        lambda: data[:at],
        lambda: data[at:],
        lambda: data[:at] + data[end:],
        lambda: data[:end] + data[at:],
        lambda: data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :],
        lambda: data[:at] + random.randbytes(end - at) + data[end:],
        lambda: data[:at] + token + data[at:],
        lambda: _with_a_value_replaced(data, token, random),
    ]
    return random.choice(changes)()


def of_values(data: bytes, random: Random) -> bytes:
    """Return the text with one value, key or row changed, usually still valid JSON."""
    document = json.loads(data)
    holder, key = random.choice(list(_places(document)))
    change = random.randrange(6)
    if change == 0:
        del holder[key]
    elif change == 1 and isinstance(holder, dict):
        name = random.choice(("extra", "", "state", str(key).upper(), "k" * 3000))
        holder[name] = holder.pop(key)
    elif change == 1:
        holder.insert(key, holder[key])
    elif change == 2:
        other, there = random.choice(list(_places(document)))
        holder[key] = json.loads(json.dumps(other[there]))
    elif change == 3 and isinstance(holder, dict):
        return _with_a_key_twice(document, holder, key)
    elif change == 4 and isinstance(holder[key], int | float):
        holder[key] += random.choice((1, -1, 0.0, 0.5))
    else:
        holder[key] = random.choice(VALUES)
    return json.dumps(document, ensure_ascii=random.random() < 0.5).encode()


def _with_a_value_replaced(data: bytes, token: bytes, random: Random) -> bytes:
    """Replace a value by a token."""
    starts = [at for at in range(len(data) - 2) if data[at : at + 2] == b": "]
    if not starts:
        return token
    begin = random.choice(starts) + 2
    ends = [at for at in (data.find(stop, begin) for stop in (b",", b"}", b"]")) if at >= 0]
    return data[:begin] + token + data[min(ends, default=len(data)) :]


def _with_a_key_twice(document: Any, holder: dict[str, Any], key: str) -> bytes:
    """Duplicate a member of an object."""
    marker = "a name that nothing has"
    holder[marker] = holder[key]
    return json.dumps(document).replace(json.dumps(marker), json.dumps(key)).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every position in a document, as container and key."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])
