"""Logs written by hand, with the entries of a server."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

Said = tuple[int, str]
"""The number of the session, from 1, and its statement."""


def write_log(path: Path, said: Iterable[Said], **columns: str) -> Path:
    """Write a csvlog in which each statement outside a block is a transaction.

    Args:
        path: the file.
        said: the statements in the order of time.
        columns: values other than the defaults: `user`, `database`.
    """
    lines: dict[int, int] = {}
    virtual: dict[int, int] = {}
    inside: set[int] = set()
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, (session, sql) in enumerate(said):
            lines[session] = lines.get(session, 0) + 1
            if session not in inside:
                virtual[session] = virtual.get(session, 0) + 1
            word = sql.split(maxsplit=1)[0].upper()
            tag = "idle in transaction" if session in inside else "idle"
            if word == "BEGIN":
                inside.add(session)
            elif word in ("COMMIT", "ROLLBACK"):
                inside.discard(session)
            row = [
                f"2026-11-26 09:00:{number // 1000:02}.{number % 1000:03} UTC",
                *(columns.get("user", "app"), columns.get("database", "bench"), str(session)),
                *("[local]", f"67450000.{session:x}", str(lines[session]), tag),
                *("2026-11-26 08:59:59 UTC", f"{session}/{virtual[session]}", "0", "LOG", "00000"),
                *(f"statement: {sql}", *[""] * 8, "psql", "client backend", "", "0"),
            ]
            writer.writerow(row)
    return path
