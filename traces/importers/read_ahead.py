"""Streams that a library reads ahead in a thread of its own, and that can be ended early."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pyarrow as pa


class EndableStream(io.RawIOBase):
    """A stream that seems to be at its end as soon as `end` is called."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._ended = False

    def readable(self) -> bool:
        """True, as long as it is open."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; 0 at the end."""
        return 0 if self._ended else int(self._stream.readinto(buffer))

    def end(self) -> None:
        """Let nothing more be read."""
        self._ended = True


class Reader(Protocol):
    """What `reading` needs of a reader."""

    def read_next_batch(self) -> Any:
        """The next rows, or `StopIteration`."""


@contextmanager
def reading(stream: EndableStream, reader: Reader) -> Iterator[None]:
    """Leave no thread within `stream` however the block is left.

    A native thread that asks for the interpreter's lock while the interpreter ends is ended by it,
    and with it the whole process: an interrupted import ended with SIGABRT in one of 25 runs.
    """
    try:
        yield
    finally:
        stream.end()
        _read_to_the_end(reader)


def _read_to_the_end(reader: Reader) -> None:
    """Take the blocks that were read ahead; the thread has ended with the last of them."""
    try:
        while True:
            reader.read_next_batch()
    except (StopIteration, pa.ArrowException):
        pass
