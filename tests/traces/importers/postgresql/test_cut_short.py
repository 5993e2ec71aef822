"""Truncated parameters and statements, and prepared statements with any name."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.traces.importers.postgresql.imported import Imported, imported, key
from traces.importers.postgresql.entries import statement_of
from traces.importers.postgresql.log import CUT_STATEMENT
from traces.importers.postgresql.sessions import CUT_VALUE, NO_VALUE
from traces.importers.postgresql.statement_kinds import prepared

SQL = "UPDATE item SET v = 1 WHERE id = $1"


def log(folder: Path, *entries: tuple[str, str]) -> Path:
    """Write a csvlog of one session; each message with its detail is a transaction."""
    path = folder / "log.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, (message, detail) in enumerate(entries, start=1):
            fields = [""] * 26
            fields[0] = f"2026-11-21 09:12:{number:02}.000 UTC"
            fields[1:8] = ["app", "shop", "7", "[local]", "6745.1", str(number), "idle"]
            fields[9], fields[11], fields[12] = f"3/{number}", "LOG", "00000"
            fields[13], fields[14], fields[23] = message, detail, "client backend"
            writer.writerow(fields)
    return path


def keys_of(found: Imported) -> list[int]:
    return [one["key"] for row in found.rows for one in row["accesses"]]


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        ("parameters: $1 = 'abc...'", CUT_VALUE),
        ("Parameters: $1 = '...'", CUT_VALUE),
        ("parameters: $1 = 'it''s...'", CUT_VALUE),
        ("", NO_VALUE),
    ],
)
def test_a_truncated_parameter_is_no_key(tmp_path: Path, detail: str, reason: str) -> None:
    whole = "parameters: $1 = 'a...b'"
    path = log(tmp_path, (f"execute s: {SQL}", detail), (f"execute s: {SQL}", whole))
    found = imported(path)
    assert keys_of(found) == [key("a...b")]
    assert found.left_out.counts[reason] == 1


def test_a_truncated_parameter_outside_keys_does_not_matter(tmp_path: Path) -> None:
    sql = "UPDATE item SET note = $1 WHERE id = $2"
    path = log(tmp_path, (f"execute <unnamed>: {sql}", "parameters: $1 = 'a...', $2 = 'b'"))
    found = imported(path)
    assert keys_of(found) == [key("b")]
    assert not found.left_out.counts


@pytest.mark.parametrize("end", ["...", "…", " [truncated]", "<truncated 512 bytes>", "... "])
def test_a_truncated_statement(tmp_path: Path, end: str) -> None:
    path = log(
        tmp_path,
        (f"statement: UPDATE item SET v = 1 WHERE id = 12{end}", ""),
        ("statement: UPDATE item SET v = 1 WHERE id = '12...'", ""),
    )
    found = imported(path)
    assert keys_of(found) == [key("12...")]
    assert found.left_out.counts[CUT_STATEMENT] == 1


@pytest.mark.parametrize(
    "name",
    [
        *("S_1", "<unnamed>", "a: b", "a: b: c/C_1: d", "line\nbreak", "it's", 'q"', "$1", "ä: %s"),
        *("", " ", "fetch", ": ", "x" * 63 + "/" + "y" * 63, "\x1b[31m", "=1;"),
    ],
)
def test_prepared_statements_have_any_names(name: str) -> None:
    for sql in (SQL, f"/* {name[:3]} */ SELECT 1", " \n\tselect ': '", "(SELECT 1)"):
        found = statement_of(f"execute {name}: {sql}", "parameters: $1 = '5'")
        assert found is not None
        assert (found.sql, found.parameters) == (sql, ["'5'"])
        found = statement_of(f"duration: 0.051 ms  execute {name}: {sql}", "")
        assert found is not None
        assert (found.sql, found.took_us) == (sql, 51)


@pytest.mark.parametrize(
    "name", ["p", '"a b"', '"a""b"', '"(x) as y"', 'U&"d\\0061t"', '"line\nbreak"', "p$1", '"ä"']
)
def test_names_of_prepare_and_execute(name: str) -> None:
    prepare = f"prepare: PREPARE {name} (text) AS {SQL}"
    made = prepared(prepare.removeprefix("prepare: "))
    assert made is not None
    assert made.query == SQL
    for call in (f"EXECUTE {name}('5')", f" execute  {name} ( '5' ) ;"):
        found: Any = statement_of(f"statement: {call}", prepare)
        assert (found.sql, found.parameters) == (SQL, ["'5'"])
