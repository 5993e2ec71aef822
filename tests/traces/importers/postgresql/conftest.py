from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.traces.importers.postgresql.imported import Imported, imported
from tests.traces.importers.postgresql.server import (
    BOTH,
    DURATION,
    STATEMENT,
    Pgbench,
    Server,
    binaries,
    server,
)

MODES = ("simple", "extended", "prepared")
CLIENTS = 4
STYLES = {"statement": STATEMENT, "duration": DURATION, "both": BOTH}


@dataclass(frozen=True)
class Recorded:
    """A log of pgbench, the reports of its runs, and the imported log."""

    log: Path
    runs: tuple[Pgbench, ...]
    trace: Imported


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    if binaries() is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    with server() as running:
        yield running


@pytest.fixture(scope="session")
def schema(postgresql: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the definitions of pgbench's tables, as pg_dump writes them."""
    with postgresql.logging("fill"):
        postgresql.fill()
        return postgresql.dump_schema(tmp_path_factory.mktemp("schema") / "schema.sql")


@pytest.fixture(scope="session", params=STYLES)
def recorded(request: pytest.FixtureRequest, postgresql: Server, schema: Path) -> Recorded:
    """Record pgbench's built-in transaction over each protocol, in each style of logging."""
    with postgresql.logging(f"pgbench-{request.param}", **STYLES[request.param]) as log:
        runs = tuple(
            postgresql.pgbench("-M", mode, "-c", str(CLIENTS), "-t", "100") for mode in MODES
        )
    return Recorded(log, runs, imported(log, schema=schema))
