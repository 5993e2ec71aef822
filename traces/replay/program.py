"""The replay program: a file of arrays that the engine maps (`engine/workload/replay/program.h`).

The format is little-endian: `MAGIC`; the version and the length of the header, 32 bits each; the
header, which is JSON padded with blanks to a multiple of eight bytes; and the arrays of `ARRAYS`
without gaps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from traces.errors import TraceError

MAGIC = b"HDLREPLY"
VERSION = 1
"""Increased with each change that an older engine would misread."""

ARRAYS: Mapping[str, tuple[str, str]] = {
    "begin": ("<u8", "transactions"),
    "first_access": ("<u8", "transactions"),
    "row": ("<u4", "accesses"),
    "session": ("<u4", "transactions"),
    "access": ("<u2", "accesses"),
    "type": ("<u2", "transactions"),
    "rolls_back": ("u1", "transactions"),
    "born": ("u1", "rows"),
}
"""The arrays in order: the type of a value, and its subject. `first_access` has one more value."""


@dataclass(frozen=True)
class Counts:
    """The sizes of a program.

    Attributes:
        transactions, accesses, sessions, rows: totals of the program.
    """

    transactions: int
    accesses: int
    sessions: int
    rows: int

    def length(self, array: str) -> int:
        """Return the number of values of an array."""
        count: int = getattr(self, ARRAYS[array][1])
        return count + 1 if array == "first_access" else count


class ProgramWriter:
    """Writes a program, each array piece by piece.

    Args:
        path: the file, which is overwritten.
        counts: the sizes of the program.
        header: further values of the header.

    Raises:
        OSError: the file can't be written.
    """

    def __init__(self, path: Path, counts: Counts, header: Mapping[str, Any]) -> None:
        document = {
            "transactions": counts.transactions,
            "accesses": counts.accesses,
            "sessions": counts.sessions,
            **header,
        }
        text = json.dumps(document, ensure_ascii=False).encode()
        text += b" " * (-len(text) % 8)
        self._file: BinaryIO = path.open("wb")
        self._file.write(MAGIC + np.array([VERSION, len(text)], "<u4").tobytes() + text)
        self._at: dict[str, int] = {}
        at = self._file.tell()
        for array, (kind, _) in ARRAYS.items():
            self._at[array] = at
            at += counts.length(array) * np.dtype(kind).itemsize

    def __enter__(self) -> ProgramWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def append(self, array: str, values: np.ndarray) -> None:
        """Append values to an array."""
        data = values.astype(ARRAYS[array][0]).tobytes()
        self._file.seek(self._at[array])
        self._file.write(data)
        self._at[array] += len(data)


@dataclass(frozen=True)
class Program:
    """A program that was read.

    Attributes:
        header: its header.
        arrays: memory-mapped arrays by name, see `ARRAYS`.
    """

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def read_program(path: Path) -> Program:
    """Map a program that `traces.replay.make` has written. Only the engine validates its content.

    Raises:
        TraceError: the file is not a program of this version.
        OSError: the file can't be read.
    """
    with path.open("rb") as file:
        start = file.read(16)
        version, length = np.frombuffer(start[8:].ljust(8), "<u4")
        if start[:8] != MAGIC or version != VERSION:
            raise TraceError(f"{path}: is not a replay program of version {VERSION}")
        header = json.loads(file.read(int(length)))
    rows = sum(table["rows"] for table in header["tables"])
    counts = Counts(header["transactions"], header["accesses"], header["sessions"], rows)
    arrays, at = {}, 16 + int(length)
    for array, (kind, _) in ARRAYS.items():
        size = counts.length(array)
        whole = np.memmap(path, kind, "r", at, (size,)) if size else np.empty(0, kind)
        arrays[array] = whole
        at += size * np.dtype(kind).itemsize
    return Program(header, arrays)
