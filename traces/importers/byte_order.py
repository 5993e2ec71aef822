"""Byte order marks at the start of text files, and the encodings that they indicate."""

from __future__ import annotations

import codecs
from pathlib import Path

from traces.errors import TraceError, why

UTF8 = codecs.BOM_UTF8

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""The longest first, because UTF-32's mark starts with that of UTF-16."""


def wide_encoding(begin: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if a text with this start is in one of them."""
    return next((encoding for mark, encoding in _MARKS if begin.startswith(mark)), None)


def read_text(path: Path, cure: str) -> str:
    """Read a text file in UTF-8, or in the encoding of its byte order mark.

    Args:
        path: the file.
        cure: what to do if it is in another encoding.

    Raises:
        TraceError: the file can't be read, or is in another encoding.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: can't be read: {why(error)}") from None
    encoding = wide_encoding(data) or "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        name = "UTF-8" if encoding == "utf-8-sig" else encoding.upper()
        raise TraceError(f"{path}: is not {name} text; {cure}") from None
