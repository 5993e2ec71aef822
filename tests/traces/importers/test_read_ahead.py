"""Readers with their own thread that are closed early."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any

import pytest

from traces.importers import csv_rows as module
from traces.importers.base import LeftOut
from traces.importers.csv_rows import csv_rows
from traces.importers.source_file import SourceFile

BLOCK = b"1,2\n" * 16384


class EndlessStream(io.RawIOBase):
    """Counts its reads, by thread."""

    def __init__(self) -> None:
        self.reads = 0
        self.readers: set[int] = set()

    def readinto(self, buffer: Any) -> int:
        self.reads += 1
        self.readers.add(threading.get_ident())
        count = min(len(buffer), len(BLOCK))
        buffer[:count] = b"a,b\n" + BLOCK[4:count] if self.reads == 1 else BLOCK[:count]
        return count


def test_a_closed_log_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", len(BLOCK))
    stream: Any = EndlessStream()
    rows = csv_rows(SourceFile(Path("a.csv"), stream, stream, BLOCK), ["a"], LeftOut(strict=False))
    for _ in range(100):
        next(rows)
    rows.close()  # type: ignore[attr-defined]
    reads = stream.reads
    assert stream.readers != {threading.get_ident()}, "no thread reads ahead any more"
    threading.Event().wait(0.05)
    assert stream.reads == reads
