"""The application of docs/contention-in-postgresql.md, without a policy and with one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import INSTALL, database

PAGE = Path(__file__).parents[2] / "docs" / "contention-in-postgresql.md"
BALANCES = {
    "pgbench_accounts": "abalance",
    "pgbench_tellers": "tbalance",
    "pgbench_branches": "bbalance",
    "pgbench_history": "delta",
}
TABLES = (
    "CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int)",
    "INSERT INTO pgbench_accounts SELECT aid, 1, 0 FROM generate_series(1, 100000) aid",
    "CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int)",
    "INSERT INTO pgbench_tellers SELECT tid, 1, 0 FROM generate_series(1, 10) tid",
    "CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int)",
    "INSERT INTO pgbench_branches VALUES (1, 0)",
    "CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp)",
)
LEARNED = {
    "schema_version": 1,
    "kind": "heddle.policy",
    "cc": [],
    "protocol": {
        "name": "external",
        "options": {"store": "postgresql", "folder": "/data", "locks": "hints", "merge": "32"},
    },
    "schedule": None,
}


def application() -> Callable[..., None]:
    """Return `main` of the program on the page."""
    page = PAGE.read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"__name__": "app"}
    exec(compile(program, str(PAGE), "exec"), names)
    main: Callable[..., None] = names["main"]
    return main


@pytest.mark.parametrize("scheduled", [False, True])
def test_it_moves_the_same_amounts_in_all_tables(
    postgresql: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], scheduled: bool
) -> None:
    pytest.importorskip("psycopg_pool", reason=f"psycopg_pool is missing: {INSTALL}")
    import psycopg

    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(LEARNED), encoding="utf-8")
    with database(postgresql, *TABLES) as address:
        application()(address, *([policy] if scheduled else []), threads=8, seconds=0.5)
        assert capsys.readouterr().out.endswith("transactions/s\n")
        with psycopg.connect(address) as connection:
            sums = {
                connection.execute(f"SELECT sum({column}) FROM {table}").fetchone()
                for table, column in BALANCES.items()
            }
            (done,) = connection.execute("SELECT count(*) FROM pgbench_history").fetchone() or (0,)
    assert len(sums) == 1
    assert done > 0
