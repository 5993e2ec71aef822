"""The transactions of pgbench, compared with the trace of its log."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.traces.importers.postgresql.conftest import CLIENTS, MODES, Recorded
from tests.traces.importers.postgresql.imported import Imported, imported
from tests.traces.importers.postgresql.server import DURATION, SCALE, STATEMENT, Server
from traces.importers.postgresql.log import NO_ACCESS

TPC_B = [
    ("update", "pgbench_accounts"),
    ("read", "pgbench_accounts"),
    ("update", "pgbench_tellers"),
    ("update", "pgbench_branches"),
    ("insert", "pgbench_history"),
]
BOUNDS = {
    "pgbench_accounts": 100_000 * SCALE,
    "pgbench_tellers": 10 * SCALE,
    "pgbench_branches": SCALE,
}
SERIALIZABLE = {"PGOPTIONS": "-c default_transaction_isolation=serializable"}


@pytest.mark.slow
def test_all_transactions_are_imported_with_their_accesses(recorded: Recorded) -> None:
    written = [row for row in recorded.trace.rows if row["type"].startswith("update")]
    assert len(written) == sum(run.processed for run in recorded.runs)
    assert {row["outcome"] for row in written} == {"committed"}
    # There is one type, whatever the protocol.
    assert len({row["type"] for row in written}) == 1
    for row in written:
        assert [(one["kind"], one["table"]) for one in row["accesses"]] == TPC_B
        assert [one["access"] for one in row["accesses"]] == [0, 1, 2, 3, 4]
    assert len({row["session"] for row in written}) == CLIENTS * len(MODES)


def test_keys_are_those_of_the_rows(recorded: Recorded) -> None:
    rows = recorded.trace.rows
    accesses = [row["accesses"] for row in rows if row["type"].startswith("update")]
    for updated, read, teller, branch, _ in accesses:
        assert updated["key"] == read["key"]
        for one in (updated, teller, branch):
            assert 1 <= one["key"] <= BOUNDS[one["table"]]
    # Tellers and branches are few and all used; each row of history is new.
    assert {one[2]["key"] for one in accesses} == set(range(1, 10 * SCALE + 1))
    assert {one[3]["key"] for one in accesses} == set(range(1, SCALE + 1))
    assert len({one[4]["key"] for one in accesses}) == len(accesses)


def test_transactions_of_a_session_follow_one_another(recorded: Recorded) -> None:
    table = recorded.trace.table
    assert table["transaction"].to_pylist() == list(range(table.num_rows))
    last: dict[int, object] = {}
    for row in table.to_pylist():
        assert row["session"] not in last or last[row["session"]] <= row["begin"]
        last[row["session"]] = row["begin"]


def test_all_statements_of_pgbench_are_read(recorded: Recorded) -> None:
    assert set(recorded.trace.left_out.counts) <= {NO_ACCESS}


def test_predicate_columns_are_keys_without_definitions(recorded: Recorded) -> None:
    def of_known_keys(trace: Imported) -> list[list[tuple[str, int]]]:
        return [[(one["table"], one["key"]) for one in row["accesses"][:4]] for row in trace.rows]

    assert of_known_keys(imported(recorded.log)) == of_known_keys(recorded.trace)


@pytest.mark.parametrize("style", [STATEMENT, DURATION], ids=["statement", "duration"])
@pytest.mark.parametrize("tries", [1, 5])
def test_failures_are_aborted_transactions(
    postgresql: Server, schema: Path, style: dict[str, str], tries: int
) -> None:
    name = f"serializable-{'-'.join(style)}-{tries}"
    # With entries written after statements, a failed one has only the entry of its error.
    settings = {**style, "log_parameter_max_length_on_error": "-1"}
    with postgresql.logging(name, **settings) as log:
        arguments = ("-M", "prepared", "-c", "4", "-t", "60", f"--max-tries={tries}")
        run = postgresql.pgbench(*arguments, **SERIALIZABLE)
    assert run.failed + run.retries > 0
    trace = imported(log, schema=schema)
    outcomes = Counter(
        row["outcome"] for row in trace.rows if not row["type"].startswith("scan_pgbench_branches")
    )
    assert outcomes["committed"] == run.processed
    assert outcomes["aborted"] == run.failed + run.retries
    aborted = [row for row in trace.rows if row["outcome"] == "aborted"]
    assert {dict(row["parameters"])["sqlstate"] for row in aborted} <= {"40001", "40P01"}
    assert set(trace.left_out.counts) <= {NO_ACCESS}


def test_a_select_alone_is_a_transaction(postgresql: Server, schema: Path) -> None:
    with postgresql.logging("select-only", log_connections="on", **STATEMENT) as log:
        run = postgresql.pgbench("-S", "-M", "prepared", "-c", "2", "-t", "100")
    kinds = Counter(
        tuple((one["kind"], one["table"]) for one in row["accesses"])
        for row in imported(log, schema=schema).rows
    )
    assert kinds[(("read", "pgbench_accounts"),)] == run.processed


def test_connections_for_every_transaction(postgresql: Server, schema: Path) -> None:
    with postgresql.logging("connect", log_disconnections="on", **STATEMENT) as log:
        run = postgresql.pgbench("-C", "-c", "2", "-t", "20")
    rows = [row for row in imported(log, schema=schema).rows if row["type"].startswith("update")]
    assert len({row["session"] for row in rows}) == len(rows) == run.processed


PIPELINE = """
\\set aid random(1, 1000)
\\startpipeline
UPDATE pgbench_accounts SET abalance = 0 WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\\endpipeline
"""


@pytest.mark.parametrize("style", [STATEMENT, DURATION], ids=["statement", "duration"])
def test_a_pipeline_is_one_transaction(
    postgresql: Server, schema: Path, tmp_path: Path, style: dict[str, str]
) -> None:
    """Drivers send batches like this: without BEGIN, until the client synchronizes."""
    script = tmp_path / "pipeline.sql"
    script.write_text(PIPELINE)
    with postgresql.logging(f"pipeline-{len(style)}", **style) as log:
        run = postgresql.pgbench("-M", "extended", "-c", "2", "-t", "20", "-f", str(script))
    rows = imported(log, schema=schema).rows
    made = Counter(tuple(one["kind"] for one in row["accesses"]) for row in rows)
    assert made[("update", "read")] == run.processed
