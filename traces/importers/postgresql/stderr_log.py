"""Reads PostgreSQL's log in text form (`log_destination = 'stderr'`) as records of its csvlog."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from traces.errors import TraceError
from traces.importers.byte_order import UTF8
from traces.importers.postgresql import entries
from traces.importers.postgresql.error_states import state_of
from traces.importers.postgresql.line_prefix import PARTS, LinePrefix
from traces.importers.postgresql.records import (
    COLUMNS,
    RECORD_BYTES_MAX,
    SHOWN_CHARACTERS,
    Damage,
    Record,
)

NO_ENTRY = "line that is no entry"
TOO_LONG = "log entry longer than any"
UNKNOWN_VIRTUAL = "?"
"""Represents the local id of a transaction if the log has none (`%v`)."""

_PARTS = frozenset(PARTS.split("|"))
_PLACES = {
    "DETAIL": entries.DETAIL,
    "CONTEXT": entries.CONTEXT,
    "STATEMENT": entries.QUERY,
}
_COMING = ("connection received", "connection authenticated", "connection authorized")
_OUTSIDE = ("disconnection: ", "starting PostgreSQL", "database system ", "connection received")
_ERRORS = ("ERROR", "FATAL", "PANIC")
_CONTINUED = "\t"


@dataclass
class _Open:
    """An entry while its lines are read."""

    line: int
    match: re.Match[str]
    message: list[str]
    parts: dict[str, list[str]] = field(default_factory=dict)
    last: list[str] = field(default_factory=list)
    lines: int = 1
    size: int = 0
    exact: bool = True


class Sessions:
    """Sessions by process, for logs without session ids (`%c`); kept through all files."""

    def __init__(self) -> None:
        self._count = 0
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}

    def name(self, found: dict[str, str], message: str) -> str:
        """Return a session's id: two hexadecimal numbers, of which the second is the process."""
        process = found["process"]
        marks = tuple(found.get(mark, "") for mark in ("remote", "host", "start"))
        known = self._known.get(process)
        if known is None or known[1] != marks or message.startswith("connection received"):
            self._count += 1
            known = (f"{self._count:x}.{int(process):x}", marks)
            self._known[process] = known
        if message.startswith("disconnection: "):
            del self._known[process]
        return known[0]


def read_records(
    lines: Iterable[bytes],
    encoding: str,
    prefix: LinePrefix,
    sessions: Sessions,
    database: str | None = None,
) -> Iterator[Record | Damage]:
    """Read a log in text form.

    An entry is a line with a severity, further lines of it (`DETAIL` and others), and lines that
    start with a tab, which continue the line above.

    Args:
        lines: the lines of the file, as bytes, with their ends.
        encoding: the server's encoding.
        prefix: the server's prefix.
        sessions: the sessions of earlier files, to which this one's are added.
        database: the database whose statements are wanted; None: all.

    Raises:
        TraceError: a database is wanted, but the prefix does not contain it.
    """
    if database is not None and not prefix.has("d"):
        raise _no_database(database)
    reader = _Reader(prefix, sessions)
    ended = True
    for number, whole in enumerate(lines, start=1):
        whole, exact = whole.removeprefix(UTF8), True
        try:
            text = whole.decode(encoding)
        except UnicodeDecodeError:
            text, exact = whole.decode(encoding, errors="backslashreplace"), False
        ended = text.endswith("\n")
        for found in reader.line(number, text.rstrip("\r\n"), exact):
            # A well-known prefix may match outside of sessions, where only a part is written.
            if database is not None and isinstance(found, Record) and _is_nowhere(found.fields):
                raise _no_database(database)
            yield found
    yield from reader.finish(ended)


def _is_nowhere(fields: list[str]) -> bool:
    is_statement = fields[entries.MESSAGE].startswith(("statement: ", "execute "))
    return is_statement and not fields[entries.DATABASE]


def _no_database(wanted: str) -> TraceError:
    return TraceError(
        f"--database {wanted}: the log does not name databases, because its log_line_prefix has "
        "no %d; omit --database to read all statements"
    )


class _Reader:
    """Combines lines into entries."""

    def __init__(self, prefix: LinePrefix, sessions: Sessions) -> None:
        self._pattern = prefix.pattern
        self._has_virtual = prefix.has("v")
        self._sessions = sessions
        self._open: _Open | None = None

    def line(self, number: int, text: str, exact: bool) -> Iterator[Record | Damage]:
        current = self._open
        if current is not None and text.startswith(_CONTINUED):
            current.last.append(text[1:])
            current.size += len(text)
            current.exact = current.exact and exact
            if current.size > RECORD_BYTES_MAX:
                self._open = None
                yield Damage(current.line, TOO_LONG, current.message[0][:SHOWN_CHARACTERS])
            return
        match = self._pattern.match(text)
        if match is None:
            if text.strip("\0 \t"):
                yield Damage(number, NO_ENTRY, text[:SHOWN_CHARACTERS])
            return
        if match["kind"] not in _PARTS:
            yield from self.finish()
            self._open = _Open(number, match, [match["text"]], exact=exact)
            self._open.last = self._open.message
        elif current is None or _whose(match) != _whose(current.match):
            yield Damage(number, NO_ENTRY, text[:SHOWN_CHARACTERS])
        else:
            current.last = current.parts.setdefault(match["kind"], [])
            current.last.append(match["text"])
            current.lines += 1
            current.exact = current.exact and exact

    def finish(self, ended: bool = True) -> Iterator[Record]:
        """Yield the entry of the lines so far."""
        current, self._open = self._open, None
        if current is None:
            return
        yield Record(current.line, self._fields(current), current.exact, current.lines, not ended)

    def _fields(self, entry: _Open) -> list[str]:
        found = {name: value or "" for name, value in entry.match.groupdict().items()}
        fields = [""] * COLUMNS[-1]
        message = "\n".join(entry.message)
        fields[0] = _time(found)
        fields[entries.USER] = found.get("user", "")
        fields[entries.DATABASE] = found.get("database", "")
        fields[entries.SESSION] = found.get("session") or self._sessions.name(found, message)
        fields[entries.SESSION_LINE] = found.get("line", "")
        coming = message.startswith(_COMING)
        fields[entries.TAG] = found.get("tag", "authentication" if coming else "")
        fields[entries.VIRTUAL_ID] = self._virtual(found, fields[entries.SESSION], message)
        fields[entries.SEVERITY] = entry.match["kind"]
        fields[entries.MESSAGE] = message
        fields[entries.STATE] = found.get("state", "")
        if not fields[entries.STATE] and entry.match["kind"] in _ERRORS:
            fields[entries.STATE] = state_of(message)
        fields[entries.BACKEND] = found.get("backend", entries.CLIENT)
        for kind, texts in entry.parts.items():
            if kind in _PLACES:
                fields[_PLACES[kind]] = "\n".join(texts)
        return fields

    def _virtual(self, found: dict[str, str], session: str, message: str) -> str:
        if self._has_virtual:
            return found["virtual"]
        # In place of the server's id: its process, which no other session has at the same time.
        process = session.partition(".")[2]
        return "" if message.startswith(_OUTSIDE) else f"{process}/{UNKNOWN_VIRTUAL}"


def _whose(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups.get("session") or groups.get("process") or ""


def _time(found: dict[str, str]) -> str:
    """Return the time in csvlog's form: in milliseconds, with the zone."""
    if "time" in found:
        return found["time"]
    if "second" in found:
        return f"{found['second'][:19]}.000{found['second'][19:]}"
    moment = datetime.fromtimestamp(int(found["epoch"][:-4]), UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}{found['epoch'][-4:]} UTC"
