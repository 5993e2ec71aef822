"""Detects the form of a log of PostgreSQL by the start of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from traces.importers.postgresql import jsonlog, records, stderr_log
from traces.importers.postgresql.line_prefix import LinePrefix, known_prefix
from traces.importers.postgresql.records import RECORD_BYTES_MAX, Damage, Record
from traces.importers.source_file import SourceFile

_CSV = re.compile(rb"^" + records.START.pattern, re.MULTILINE)


class LogForms:
    """Reads files in any form of the log.

    Args:
        encoding: the server's encoding, for files without a byte order mark.
        prefix: the server's `log_line_prefix`, for logs in text form; None: a well-known one.
        database: the database whose statements are wanted; None: all.
    """

    def __init__(self, encoding: str, prefix: LinePrefix | None, database: str | None) -> None:
        self._encoding = encoding
        self._prefix = prefix
        self._database = database
        self._sessions = stderr_log.Sessions()

    def records(self, source: SourceFile) -> Iterator[Record | Damage]:
        """Yield the entries of a file that is at its start.

        Raises:
            TraceError: the database is selected, but a log in text form does not contain it.
        """
        lines = iter(partial(source.stream.readline, RECORD_BYTES_MAX), b"")
        begin = source.beginning
        encoding = "utf-8" if source.marked else self._encoding
        texts = begin.decode(encoding, errors="replace").splitlines()
        prefix = self._prefix
        if prefix is not None and any(map(prefix.fits, texts)):
            return self._text(lines, encoding, prefix)
        if begin.lstrip()[:1] == b"{":
            return jsonlog.read_records(lines, encoding)
        prefix = known_prefix(texts) if prefix is None else None
        if prefix is not None and not _CSV.search(begin):
            return self._text(lines, encoding, prefix)
        return records.read_records(lines, encoding)

    def _text(
        self, lines: Iterator[bytes], encoding: str, prefix: LinePrefix
    ) -> Iterator[Record | Damage]:
        return stderr_log.read_records(lines, encoding, prefix, self._sessions, self._database)
