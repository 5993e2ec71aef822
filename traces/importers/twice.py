"""Detects files that are named twice: with another name, packed, or in a shorter version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from traces.errors import TraceError
from traces.importers.source_file import BEGINNING_BYTES, open_source

_PARQUET = b"PAR1"
_LINES_MIN = 2
"""The minimum number of common lines, one of which may be the header, of equal files."""


def refuse_twice(paths: Sequence[Path]) -> None:
    """Check that no file is named twice, before the work that reads them.

    Raises:
        TraceError: two are the same file, or one is the beginning of the other.
    """
    files: dict[Path, Path] = {}
    by_line: dict[bytes, list[tuple[Path, bytes]]] = {}
    for path in paths:
        if path.resolve() in files:
            raise _twice(path, files[path.resolve()], "is the same file as")
        files[path.resolve()] = path
        with open_source(path) as file:
            beginning = file.beginning
        if beginning.startswith(_PARQUET):
            beginning += _end_of(path)
        # Candidates share their first two lines, or the second is cut.
        alike = by_line.setdefault(beginning.split(b"\n", 1)[0], [])
        for other, others in alike:
            if _alike(beginning, others):
                raise _twice(path, other, "begins with the same entries as")
        alike.append((path, beginning))


def _alike(one: bytes, other: bytes) -> bool:
    shorter, longer = sorted((one, other), key=len)
    enough = len(shorter) >= BEGINNING_BYTES or shorter.strip().count(b"\n") + 1 >= _LINES_MIN
    return enough and longer.startswith(shorter)


def _end_of(path: Path) -> bytes:
    """Return a Parquet file's end, which describes its content, and its size."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - BEGINNING_BYTES))
        return file.read() + str(size).encode()


def _twice(path: Path, other: Path, words: str) -> TraceError:
    return TraceError(f"{path}: {words} {other}; name each part of the log once")
