"""A file of a log: opened, unpacked, and read only so far as is known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from traces.errors import TraceError, why

PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
"""What is unpacked while it is read, by the ending of the name."""


@dataclass(frozen=True)
class SourceFile:
    """An open file.

    Attributes:
        path: as it was named.
        stream: its bytes, unpacked; for pyarrow's readers.
        raw: its bytes as they are on disk.
    """

    path: Path
    stream: Any
    raw: Any

    def bytes_read(self) -> int:
        """How much of it was read, in bytes on disk."""
        return int(self.raw.tell()) if not self.raw.closed else self.path.stat().st_size

    def bad(self, words: str) -> TraceError:
        """An error that names the file."""
        return TraceError(f"{self.path}: {words}")


def unpacked_suffix(path: Path) -> str:
    """The ending that says what is in a file, such as `.csv` for `log.csv.gz`."""
    inner = path.with_suffix("") if path.suffix.lower() in PACKED else path
    return inner.suffix.lower()


@contextmanager
def open_source(path: Path) -> Iterator[SourceFile]:
    """Open a file, unpacking it where its name says that it is packed.

    Raises:
        TraceError: it can't be opened.
    """
    check_source(path)
    try:
        with pa.OSFile(os.fsencode(path), "rb") as raw:
            packing = PACKED.get(path.suffix.lower())
            stream = pa.CompressedInputStream(raw, packing) if packing else raw
            yield SourceFile(path, stream, raw)
    except OSError as error:
        raise TraceError(f"{path}: can't be read: {why(error)}") from None


def check_source(path: Path) -> None:
    """Before hours of work, not after.

    Raises:
        TraceError: it is not a file that can be read.
    """
    try:
        if path.is_dir():
            raise TraceError(f"{path}: is a directory; name the files in it")
        if path.exists() and not path.is_file():
            raise TraceError(f"{path}: is not a regular file; write the log into one first")
        with path.open("rb"):
            pass
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no such file") from None
    except OSError as error:
        raise TraceError(f"{path}: can't be read: {why(error)}") from None
