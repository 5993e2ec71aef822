"""Reads PostgreSQL's log as JSON (`log_destination = 'jsonlog'`) as records of its csvlog."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from traces.importers.byte_order import UTF8
from traces.importers.postgresql import entries
from traces.importers.postgresql.records import COLUMNS, SHOWN_CHARACTERS, Damage, Record

NO_ENTRY = "no entry of a jsonlog"

_MEMBERS = {
    0: ("timestamp", "log_time"),
    entries.USER: ("user", "user_name"),
    entries.DATABASE: ("dbname", "database_name"),
    entries.SESSION: ("session_id", "session_id"),
    entries.SESSION_LINE: ("line_num", "session_line_num"),
    entries.TAG: ("ps", "command_tag"),
    entries.VIRTUAL_ID: ("vxid", "virtual_transaction_id"),
    entries.SEVERITY: ("error_severity", "error_severity"),
    entries.STATE: ("state_code", "sql_state_code"),
    entries.MESSAGE: ("message", "message"),
    entries.DETAIL: ("detail", "detail"),
    entries.CONTEXT: ("context", "context"),
    entries.QUERY: ("statement", "query"),
    entries.BACKEND: ("backend_type", "backend_type"),
}
"""The names of columns in jsonlog (PostgreSQL manual, section 20.8.5), and in programs that write
the csvlog as JSON, such as CloudNativePG in the member `record`."""


def read_records(lines: Iterable[bytes], encoding: str) -> Iterator[Record | Damage]:
    """Read a jsonlog with an object in each line.

    Args:
        lines: the lines of the file, as bytes, with their ends.
        encoding: the server's encoding.
    """
    for number, whole in enumerate(lines, start=1):
        whole, exact = whole.removeprefix(UTF8), True
        try:
            text = whole.decode(encoding)
        except UnicodeDecodeError:
            text, exact = whole.decode(encoding, errors="backslashreplace"), False
        if not text.strip("\0\r\n\t "):
            continue
        fields = _fields(text)
        if fields is None:
            yield Damage(number, NO_ENTRY, text[:SHOWN_CHARACTERS])
        else:
            yield Record(number, fields, exact)


def _fields(text: str) -> list[str] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, dict) and isinstance(document.get("record"), dict):
        document = document["record"]
    if not isinstance(document, dict):
        return None
    fields = [""] * COLUMNS[-1]
    for place, names in _MEMBERS.items():
        fields[place] = _text(next((document[name] for name in names if name in document), None))
    return fields if fields[0] and fields[entries.SESSION] else None


def _text(value: Any) -> str:
    if value is None or isinstance(value, (dict, list)):
        return ""
    # JSON's escapes permit a lone surrogate, which can't be encoded.
    return str(value).encode(errors="replace").decode()
