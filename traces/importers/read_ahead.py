"""Streams that a library reads ahead in its own thread, and that can be ended early."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pyarrow as pa


class EndableStream(io.RawIOBase):
    """A stream that reports its end after `end` was called."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._ended = False

    def readable(self) -> bool:
        """Return true while the stream is open."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return 0 at the end."""
        return 0 if self._ended else int(self._stream.readinto(buffer))

    def end(self) -> None:
        """Prevent further reads."""
        self._ended = True


class Reader(Protocol):
    """The interface that `reading` needs."""

    def read_next_batch(self) -> Any:
        """Return the next rows, or raise `StopIteration`."""


@contextmanager
def reading(stream: EndableStream, reader: Reader) -> Iterator[None]:
    """Ensure that no thread uses `stream` after the block.

    A native thread that asks for the interpreter's lock during shutdown ends the process: without
    this, an interrupted import ended with SIGABRT in one of 25 runs.
    """
    try:
        yield
    finally:
        stream.end()
        _read_to_the_end(reader)


def _read_to_the_end(reader: Reader) -> None:
    """Consume the blocks that were read ahead; the thread ends with the last of them."""
    try:
        while True:
            reader.read_next_batch()
    except (StopIteration, pa.ArrowException):
        pass
