"""Types, tables and statements whose names contain any characters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from traces.command import trace
from traces.reader import open_trace

MAPPING = """
time: {column: t, format: epoch}
session: s
type: url
gap_ms: 10
table: table
key: row
kind: {value: update}
statement: name
parameters: [name]
"""
NAMES = [
    *("/pay\nnow", "$HOME", "\x1b[31mred", "[bold]x[/bold]", ":smile:", "a\tb", "\x00", "\u202e"),
    *("{}", "%s %d", "<b>&amp;", "\\n", "'\"", "a,b;c", "=1+1", "\r", "\x7f\x9b", "ä" * 300),
    *(" ", "-1", "null", "\ud800"),
]


def run(*words: str | Path) -> Result:
    done = CliRunner().invoke(trace, [str(word) for word in words])
    assert done.exception is None, done.stderr
    return done


def imported(folder: Path, rows: list[dict[str, Any]]) -> Path:
    (folder / "m.yaml").write_text(MAPPING)
    (folder / "log.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    out = folder / "trace"
    run("import", "-f", "access-log", "--mapping", folder / "m.yaml", folder / "log.jsonl", out)
    return out


def row(number: int, name: str) -> dict[str, Any]:
    return {"t": number, "s": "a", "url": name, "table": name, "row": 7, "name": name}


def test_names_are_preserved(tmp_path: Path) -> None:
    out = imported(tmp_path, [row(number, name) for number, name in enumerate(NAMES)])
    opened = open_trace(out)
    names = [name.encode(errors="backslashreplace").decode() for name in NAMES]
    assert [one.name for one in opened.manifest.types] == names
    assert [one.accesses[0].name for one in opened.manifest.types] == names
    read = [made for batch in opened.batches() for made in batch.to_pylist()]
    assert [made["type"] for made in read] == names
    assert [made["accesses"][0]["table"] for made in read] == names
    assert [dict(made["parameters"])["name"] for made in read] == names


@pytest.mark.parametrize("command", ["show", "stats", "stats --peaks"])
def test_names_are_shown_as_text(tmp_path: Path, command: str) -> None:
    out = imported(tmp_path, [row(number, name) for number, name in enumerate(NAMES)])
    shown = run(*command.split(), out).stdout
    if command == "show":  # a table of 22 columns wraps their names
        assert "[bold]x[/bold]" in shown
        assert ":smile:" in shown


def test_unnamed_accesses_and_composed_names(tmp_path: Path) -> None:
    names = ["", "x", "x_update_b_3", "x", "x_update_a_2"]
    tables = ["a", "a", "a", "b", "a"]
    rows = [
        {"t": 1, "s": "a", "url": "u", "table": table, "row": 1, "name": name}
        for name, table in zip(names, tables, strict=True)
    ]
    (only,) = open_trace(imported(tmp_path, rows)).manifest.types
    found = [one.name for one in only.accesses]
    assert found[:3] == ["update_a", "x", "x_update_b_3"]
    assert len(set(found)) == len(found)
