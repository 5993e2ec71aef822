"""Opens and unpacks a file of a log, and reads its beginning."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from traces.errors import TraceError, why
from traces.importers.byte_order import UTF8, wide_encoding
from traces.importers.packing import BUFFER_BYTES, FAULTS, unpacked

BEGINNING_BYTES = 1 << 14
"""The bytes at a file's start that determine its format."""

_TAR = slice(257, 262)
_BLANK = b"\0\r\n\t "


@dataclass(frozen=True)
class SourceFile:
    """An open file.

    Attributes:
        path: the path as it was given.
        stream: its unpacked bytes; text is in UTF-8 without a byte order mark.
        raw: its bytes on disk.
        beginning: the first bytes of `stream`, up to `BEGINNING_BYTES`.
        marked: whether a byte order mark determined the encoding.
    """

    path: Path
    stream: BinaryIO
    raw: Any
    beginning: bytes
    marked: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether `beginning` is the complete content."""
        return len(self.beginning) < BEGINNING_BYTES

    @property
    def is_empty(self) -> bool:
        """Whether it contains only line breaks, or zero bytes from a crash."""
        return self.is_whole and not self.beginning.strip(_BLANK)

    def bytes_read(self) -> int:
        """The number of bytes on disk that were read."""
        return int(self.raw.tell()) if not self.raw.closed else self.path.stat().st_size

    def bad(self, words: str) -> TraceError:
        """Return an error that names the file."""
        return TraceError(f"{self.path}: {words}")


@contextmanager
def open_source(path: Path) -> Iterator[SourceFile]:
    """Open a file, unpack it, and convert it to UTF-8 if it has a byte order mark.

    Raises:
        TraceError: the file can't be opened, or is damaged.
    """
    check_source(path)
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(pa.OSFile(os.fsencode(path), "rb"))
            stream, marked = _text(unpacked(raw, path, stack), stack)
            beginning = stream.peek(BEGINNING_BYTES)[:BEGINNING_BYTES]
            if beginning[_TAR] == b"ustar":
                raise TraceError(f"{path}: is a tar archive; unpack it and name the files in it")
            yield SourceFile(path, stream, raw, beginning, marked)
    except UnicodeDecodeError as error:
        encoding = error.encoding.upper()
        raise TraceError(f"{path}: is not {encoding} as its byte order mark says") from None
    except FAULTS as error:
        raise TraceError(f"{path}: can't be read: {_words(error)}") from None


class _Beginning(io.RawIOBase):
    """A stream whose first bytes were already read."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first = first
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._first:
            return cast(io.BufferedReader, self._rest).readinto(buffer)
        count = min(len(buffer), len(self._first))
        buffer[:count] = self._first[:count]
        self._first = self._first[count:]
        return count


def _text(stream: BinaryIO, stack: ExitStack) -> tuple[io.BufferedReader, bool]:
    """Return the stream without its byte order mark; `peek` sees the first bytes after it.

    Returns:
        The stream, and whether there was a mark.
    """
    first = stream.read(BEGINNING_BYTES)
    encoding = wide_encoding(first)
    whole: Any = _Beginning(first.removeprefix(UTF8), stream)
    if encoding is not None:
        plain = pa.PythonFile(io.BufferedReader(whole), mode="r")
        whole = pa.transcoding_input_stream(plain, encoding, "utf-8")
    marked = encoding is not None or first.startswith(UTF8)
    return stack.enter_context(io.BufferedReader(cast(Any, whole), BUFFER_BYTES)), marked


def _words(error: Exception) -> str:
    words = why(error) if isinstance(error, OSError) else str(error)
    cut_off = isinstance(error, EOFError) or "Truncated compressed" in words
    return f"{words}; it is truncated; copy it again" if cut_off else words


def check_source(path: Path) -> None:
    """Check that a source can be read, before the work that reads it.

    Raises:
        TraceError: it is not a readable file.
    """
    try:
        if path.is_dir():
            raise TraceError(f"{path}: is a directory; name the files in it")
        if path.exists() and not path.is_file():
            raise TraceError(f"{path}: is not a regular file; copy the log to a file first")
        with path.open("rb"):
            pass
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no such file") from None
    except OSError as error:
        raise TraceError(f"{path}: can't be read: {why(error)}") from None
