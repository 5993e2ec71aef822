"""Byte order marks: what a text file may begin with, and what they say of its encoding."""

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
"""The longest first: UTF-32's mark begins with that of UTF-16."""


def wide_encoding(begin: bytes) -> str | None:
    """UTF-16 or UTF-32, if a text that begins so is in one of them."""
    return next((encoding for mark, encoding in _MARKS if begin.startswith(mark)), None)


def read_text(path: Path, cure: str) -> str:
    """The text of a file that people write, in UTF-8 or with a byte order mark, without that.

    Args:
        path: of the file.
        cure: what to do where it is in another encoding.

    Raises:
        TraceError: it can't be read, or is in another encoding.
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
