"""The example of docs/traces.md has the results that the page describes."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from traces.command import trace
from traces.reader import open_trace

PAGE = Path(__file__).parents[2] / "docs" / "traces.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_the_mapping_of_the_page(tmp_path: Path) -> None:
    log, mapping, out = tmp_path / "orders.csv", tmp_path / "orders.yaml", tmp_path / "orders"
    log.write_text(block("csv"))
    mapping.write_text(block("yaml"))
    typed = ["import", "--format", "access-log", "--mapping", mapping, "--strict", log, out]
    done = CliRunner().invoke(trace, [str(one) for one in typed])
    assert done.exit_code == 0, done.output
    rows = [row for batch in open_trace(out).batches() for row in batch.to_pylist()]
    assert [row["type"] for row in rows] == ["/pay", "/pay", "/balance"]
    assert [row["outcome"] for row in rows] == ["committed", "aborted", "committed"]
    assert [len(row["accesses"]) for row in rows] == [3, 2, 1]
    assert rows[0]["begin"].hour == 8
