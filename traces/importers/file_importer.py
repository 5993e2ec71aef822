"""The base of importers that read any number of files, one after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traces.errors import TraceError
from traces.importers.base import Importer, LeftOut
from traces.importers.source_file import SourceFile, check_source, open_source
from traces.importers.twice import refuse_twice

EMPTY = "file that is empty"


class FileImporter(Importer):
    """Converts files into transactions.

    Args:
        sources: the files, in their order.
        left_out: counts rows that do not become transactions.
        needs: a description of the files, such as `the CSV files of the log`.

    Raises:
        TraceError: there is no source, or one can't be read or is named twice.
    """

    def __init__(self, sources: tuple[Path, ...], left_out: LeftOut, needs: str) -> None:
        super().__init__(sources, left_out)
        if not sources:
            raise TraceError(f"SOURCE: missing; name {needs}")
        for path in sources:
            check_source(path)
        refuse_twice(sources)
        self.bytes_total = sum(path.stat().st_size for path in sources)
        self._bytes_before = 0
        self._file: SourceFile | None = None

    @property
    def bytes_read(self) -> int:
        """The bytes read from closed files and from the open one."""
        return self._bytes_before + (self._file.bytes_read() if self._file else 0)

    def files(self) -> Iterator[SourceFile]:
        """Yield the sources in order, each open until the next; empty files are counted.

        Raises:
            TraceError: a file can't be read.
        """
        for path in self.sources:
            with self._opened(path) as file:
                if file.is_empty:
                    self.left_out.skip(EMPTY, 1, str(path))
                else:
                    yield file

    @contextmanager
    def _opened(self, path: Path) -> Iterator[SourceFile]:
        with open_source(path) as file:
            self._file = file
            yield file
        self._file = None
        self._bytes_before += path.stat().st_size
