"""Detects packed files by their first bytes, and opens them."""

from __future__ import annotations

import io
import lzma
import re
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from traces.errors import TraceError

BUFFER_BYTES = 1 << 20
"""The size of a read."""

SUFFIXES = (".gz", ".gzip", ".bz2", ".xz", ".lzma", ".zst", ".zstd", ".lz4", ".br", ".zip")
"""Endings of packed files. The first bytes tell the kind; only Brotli has none."""

FAULTS = (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)
"""The errors of damaged packed files."""

Opened = Callable[[Any, Path, ExitStack], Any]


def _by_pyarrow(codec: str) -> Opened:
    return lambda raw, path, stack: stack.enter_context(pa.CompressedInputStream(raw, codec))


def _xz(raw: Any, path: Path, stack: ExitStack) -> Any:
    return stack.enter_context(lzma.LZMAFile(raw))


def _zip(raw: Any, path: Path, stack: ExitStack) -> Any:
    archive = stack.enter_context(zipfile.ZipFile(raw))
    names = [name for name in archive.namelist() if not _is_beside(name)]
    if len(names) != 1:
        raise TraceError(
            f"{path}: holds {len(names)} files; unpack it and name them in the order of time"
        )
    try:
        return stack.enter_context(archive.open(names[0]))
    except RuntimeError as error:
        raise TraceError(f"{path}: can't be unpacked: {error}; unpack it first") from None


def _is_beside(name: str) -> bool:
    """Whether a member is not a file of the user: a directory, or metadata of macOS."""
    return name.endswith("/") or name.startswith("__MACOSX/")


KINDS: tuple[tuple[re.Pattern[bytes], Opened], ...] = (
    (re.compile(rb"\x1f\x8b"), _by_pyarrow("gzip")),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), _by_pyarrow("bz2")),
    (re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _by_pyarrow("zstd")),
    (re.compile(rb"\x04\x22\x4d\x18"), _by_pyarrow("lz4")),
    (re.compile(rb"\xfd7zXZ\x00|\x5d\x00\x00[\x00-\xff]{2}(?:\xff{8}|[\x00-\xff]{5}\x00{3})"), _xz),
    (re.compile(rb"PK(?:\x03\x04|\x05\x06)"), _zip),
)
"""The first bytes of each kind, and how it is opened."""

MAGIC_BYTES = 14


def unpacked(raw: Any, path: Path, stack: ExitStack) -> BinaryIO:
    """Return the bytes of a file, unpacked if it is packed.

    Args:
        raw: the open file at its start; it must support seeking.
        path: its name, for messages.
        stack: closes what is opened.

    Raises:
        TraceError: the file is an archive of several files.
    """
    begin = raw.read(MAGIC_BYTES)
    raw.seek(0)
    opened = next((how for magic, how in KINDS if magic.match(begin)), None)
    if opened is None and path.suffix.lower() == ".br":
        opened = _by_pyarrow("brotli")
    stream = raw if opened is None else opened(raw, path, stack)
    return cast(BinaryIO, stack.enter_context(io.BufferedReader(stream, BUFFER_BYTES)))


def unpacked_suffix(path: Path) -> str:
    """Return the ending of the unpacked file's name, such as `.csv` for `log.csv.gz`."""
    inner = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
    return inner.suffix.lower()
