"""Unusual statements, sent to a server by psql, and their accesses in the trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.importers.postgresql.imported import Access, imported, key
from tests.traces.importers.postgresql.server import BOTH, DURATION, STATEMENT, Server
from tests.waiting import PATIENCE_S, wait_until
from traces.importers.postgresql.accesses import FUNCTION, KEY_NOT_NAMED
from traces.importers.postgresql.log import NO_ACCESS
from traces.importers.postgresql.sessions import NO_BEGIN, NO_END, REFUSED
from traces.importers.postgresql.statement_kinds import COPIED

TABLES = """
DROP SCHEMA IF EXISTS shop CASCADE;
DROP TABLE IF EXISTS item, stock, "Cart", journal;
CREATE SCHEMA shop;

CREATE TABLE item (id int PRIMARY KEY, name text, price numeric DEFAULT 1);
CREATE TABLE stock (warehouse int, item int, quantity int, PRIMARY KEY (warehouse, item));
CREATE TABLE "Cart" ("Owner" text PRIMARY KEY, total int);

CREATE TABLE shop.orders (id bigserial PRIMARY KEY, item int, note text);
CREATE TABLE journal (at timestamptz, amount int);

INSERT INTO item SELECT n, 'item ' || n FROM generate_series(1, 20) n;
INSERT INTO stock SELECT w, i, 10 FROM generate_series(1, 2) w, generate_series(1, 20) i;
"""

SCAN = key()
"""The key of a scan of a whole table."""

COMMITTED = "committed"

CASES: dict[str, tuple[str, list[tuple[str, list[Access]]]]] = {
    "autocommit": (
        "UPDATE item SET price = 2 WHERE id = 7; DELETE FROM item WHERE id = -3;",
        [
            (COMMITTED, [("update", "item", 7)]),
            (COMMITTED, [("delete", "item", -3)]),
        ],
    ),
    "block": (
        "BEGIN; SELECT * FROM item WHERE id = 1 FOR UPDATE;"
        "UPDATE item SET price = price + -1 WHERE id = '1'; COMMIT;",
        [(COMMITTED, [("update", "item", 1), ("update", "item", 1)])],
    ),
    "rollback": (
        "start transaction isolation level serializable;"
        "update item set price = 3 where id = 2; rollback;",
        [("rolled_back", [("update", "item", 2)])],
    ),
    "error in a block": (
        "BEGIN; UPDATE item SET price = 3 WHERE id = 2; SELECT 1/0 FROM item WHERE id = 3;"
        "UPDATE item SET price = 3 WHERE id = 4; COMMIT;",
        [("aborted", [("update", "item", 2), ("read", "item", 3)])],
    ),
    "error alone": (
        "INSERT INTO item (id) VALUES (1);",
        [("aborted", [("insert", "item", 1)])],
    ),
    "error at the commit": (
        "CREATE TABLE late (id int UNIQUE DEFERRABLE INITIALLY DEFERRED);"
        "BEGIN; INSERT INTO late VALUES (1), (1); COMMIT; DROP TABLE late;",
        [("aborted", [("insert", "late", key("late")), ("insert", "late", key("late"))])],
    ),
    "savepoint": (
        "BEGIN; UPDATE item SET price = 3 WHERE id = 2; SAVEPOINT s; SELECT 1/0;"
        "ROLLBACK TO s; RELEASE s; UPDATE item SET price = 3 WHERE id = 5; END;",
        [(COMMITTED, [("update", "item", 2), ("update", "item", 5)])],
    ),
    "chain": (
        "BEGIN; SELECT 1 FROM item WHERE id = 1; COMMIT AND CHAIN;"
        "SELECT 1 FROM item WHERE id = 2; ROLLBACK AND CHAIN;"
        "SELECT 1 FROM item WHERE id = 3; COMMIT;",
        [
            (COMMITTED, [("read", "item", 1)]),
            ("rolled_back", [("read", "item", 2)]),
            (COMMITTED, [("read", "item", 3)]),
        ],
    ),
    "several statements in one string": (
        "UPDATE item SET price = 1 WHERE id = 1\\; UPDATE item SET price = 2 WHERE id = 2;"
        "BEGIN\\; SELECT 1 FROM item WHERE id = 4\\; COMMIT\\; SELECT 1 FROM item WHERE id = 5;",
        [
            (COMMITTED, [("update", "item", 1), ("update", "item", 2)]),
            (COMMITTED, [("read", "item", 4)]),
            (COMMITTED, [("read", "item", 5)]),
        ],
    ),
    "lists of keys": (
        "SELECT * FROM item WHERE id IN (3, 1, 2); SELECT * FROM item WHERE id = ANY('{4,5}');",
        [
            (COMMITTED, [("read", "item", 3), ("read", "item", 1), ("read", "item", 2)]),
            (COMMITTED, [("read", "item", 4), ("read", "item", 5)]),
        ],
    ),
    "ranges": (
        "SELECT * FROM item WHERE id BETWEEN 6 AND 8; SELECT * FROM item WHERE id > 9 LIMIT 1;"
        "SELECT count(*) FROM item; SELECT * FROM item WHERE name = 'item 3';"
        "SELECT * FROM stock WHERE warehouse = 1 AND item >= 4;",
        [
            (COMMITTED, [("scan", "item", 6)]),
            (COMMITTED, [("scan", "item", 9)]),
            (COMMITTED, [("scan", "item", SCAN)]),
            (COMMITTED, [("scan", "item", SCAN)]),
            (COMMITTED, [("scan", "stock", key(1, 4))]),
        ],
    ),
    "keys of several columns": (
        "UPDATE stock SET quantity = 9 WHERE item = 4 AND warehouse = 2;"
        "SELECT * FROM stock WHERE (warehouse, item) IN ((1, 2), (2, 1));",
        [
            (COMMITTED, [("update", "stock", key(2, 4))]),
            (COMMITTED, [("read", "stock", key(1, 2)), ("read", "stock", key(2, 1))]),
        ],
    ),
    "joins": (
        "SELECT * FROM item i JOIN stock s ON s.item = i.id WHERE i.id = 3 AND s.warehouse = 1;"
        "UPDATE stock SET quantity = 1 FROM item WHERE stock.item = item.id AND item.id = 5"
        " AND warehouse = 2;",
        [
            (COMMITTED, [("read", "item", 3), ("read", "stock", key(1, 3))]),
            (COMMITTED, [("read", "item", 5), ("update", "stock", key(2, 5))]),
        ],
    ),
    "queries inside": (
        "SELECT (SELECT price FROM item WHERE id = 6), quantity FROM stock"
        " WHERE warehouse = 1 AND item = 6;"
        "WITH one AS (SELECT id FROM item WHERE id = 7)"
        " DELETE FROM stock USING one WHERE item = one.id AND warehouse = 1;",
        [
            (COMMITTED, [("read", "stock", key(1, 6)), ("read", "item", 6)]),
            (COMMITTED, [("read", "item", 7), ("delete", "stock", key(1, 7))]),
        ],
    ),
    "inserts": (
        "INSERT INTO item VALUES (101, 'a'), (102, NULL);"
        "INSERT INTO item (name, id) VALUES ('it''s; --', 1) ON CONFLICT (id)"
        " DO UPDATE SET name = excluded.name;",
        [
            (COMMITTED, [("insert", "item", 101), ("insert", "item", 102)]),
            (COMMITTED, [("update", "item", 1)]),
        ],
    ),
    "names and texts": (
        "INSERT INTO \"Cart\" VALUES (E'O\\'Neil', 1), ($$Zoë$$, 2);"
        'SELECT total /* not WHERE "Owner" = \'x\' */ FROM "Cart" -- nor this\n'
        " WHERE \"Owner\" = U&'Zo\\00eb';",
        [
            (COMMITTED, [("insert", "Cart", key("O'Neil")), ("insert", "Cart", key("Zoë"))]),
            (COMMITTED, [("read", "Cart", key("Zoë"))]),
        ],
    ),
    "cursor": (
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM item WHERE id = 9; FETCH 1 FROM c; CLOSE c;"
        "COMMIT;",
        [(COMMITTED, [("read", "item", 9)])],
    ),
    "prepared": (
        "PREPARE p (int, text) AS UPDATE item SET name = $2 WHERE id = $1; EXECUTE p (11, 'x');"
        "EXECUTE p(-12, 'y');",
        [(COMMITTED, [("update", "item", 11)]), (COMMITTED, [("update", "item", -12)])],
    ),
    "copy out": ("COPY item TO STDOUT;", [(COMMITTED, [("scan", "item", SCAN)])]),
}


def record(server: Server, name: str, script: str, **settings: str) -> Path:
    with server.logging(f"setup-{name}"):
        server.psql(TABLES)
    with server.logging(name, **settings) as log:
        server.psql(script)
    return log


@pytest.fixture(scope="module")
def definitions(postgresql: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with postgresql.logging("definitions"):
        postgresql.psql(TABLES)
        return postgresql.dump_schema(tmp_path_factory.mktemp("shop") / "schema.sql")


@pytest.fixture(scope="module", params=["statement", "duration", "both"])
def recorded(request: pytest.FixtureRequest, postgresql: Server) -> Path:
    """Record all cases, each in its own session, in each style of logging."""
    settings = {"statement": STATEMENT, "duration": DURATION, "both": BOTH}[request.param]
    with postgresql.logging(f"setup-cases-{request.param}"):
        postgresql.psql(TABLES)
    with postgresql.logging(f"cases-{request.param}", **settings) as log:
        for name, (script, _) in CASES.items():
            postgresql.psql(script, PGAPPNAME=name)
    return log


@pytest.fixture(scope="module")
def by_case(recorded: Path, definitions: Path) -> dict[str, list[tuple[str, list[Access]]]]:
    trace = imported(recorded, schema=definitions)
    sessions = sorted({row["session"]: row["begin"] for row in trace.rows}.items(), key=_second)
    numbers = list(dict(sessions))
    found: dict[int, list[tuple[str, list[Access]]]] = {number: [] for number in numbers}
    rows = sorted(trace.rows, key=lambda row: (row["begin"], row["transaction"]))
    for row in rows:
        accesses = [(one["kind"], one["table"], one["key"]) for one in row["accesses"]]
        found[row["session"]].append((row["outcome"], accesses))
    assert len(numbers) == len(CASES)
    return dict(zip(CASES, found.values(), strict=True))


def _second(pair: tuple[int, object]) -> object:
    return pair[1]


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, by_case: dict[str, list[tuple[str, list[Access]]]]) -> None:
    expected = CASES[name][1]
    if name == "error at the commit":  # its table was dropped before the definitions were written
        assert [outcome for outcome, _ in by_case[name]] == ["aborted"]
        return
    assert by_case[name] == expected


def test_unreadable_statements_are_counted_and_named(postgresql: Server, definitions: Path) -> None:
    script = """
CREATE FUNCTION sell(int) RETURNS void LANGUAGE sql AS $$ DELETE FROM item WHERE id = $1 $$;
SELECT sell(20);

DO $$ BEGIN PERFORM 1; END $$;
UPDATE item SET price = 5 WHERE name = 'item 3';
INSERT INTO journal SELECT now(), quantity FROM stock;
COPY journal FROM STDIN;
2026-11-21\t5
\\.
SELECT * FROM no_such_table;
nonsense;
SET work_mem = '4MB';
SELECT 1;
DROP FUNCTION sell;
"""
    log = record(postgresql, "unread", script, **STATEMENT)
    trace = imported(log, schema=definitions)
    assert trace.left_out.counts == {
        FUNCTION: 2,
        KEY_NOT_NAMED: 2,
        COPIED: 1,
        REFUSED: 2,
        NO_ACCESS: 7,
    }
    (first, _) = trace.left_out.named[KEY_NOT_NAMED]
    lines = log.read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "UPDATE item SET price = 5" in line)
    assert first.startswith(f"{log}:{number}: ")
    assert "update item set price" in first


def test_rows_with_generated_keys_are_distinct(postgresql: Server, definitions: Path) -> None:
    script = (
        "INSERT INTO shop.orders (item) VALUES (1), (1);" * 3
        + "INSERT INTO journal VALUES (now(), 1);"
    )
    log = record(postgresql, "sequence", script, **STATEMENT)
    accesses = [one for _, made in imported(log, schema=definitions).accesses() for one in made]
    assert [(kind, table) for kind, table, _ in accesses] == [
        *[("insert", "shop.orders")] * 6,
        ("insert", "journal"),
    ]
    assert len({found for _, _, found in accesses}) == 7
    assert (
        imported(log, schema=definitions).accesses() == imported(log, schema=definitions).accesses()
    )


def test_transactions_at_the_edges_of_a_log(postgresql: Server, definitions: Path) -> None:
    """A transaction begins before the log, and another continues after it."""
    with postgresql.logging("edges", **STATEMENT) as log:
        client = postgresql.start_client(
            "\\o /dev/null\nBEGIN; UPDATE item SET price = 1 WHERE id = 1;\n\\echo a\n"
        )
        assert client.stdout is not None
        assert client.stdout.readline() == "a\n"
        _wait_for(log, "WHERE id = 1")
        before = log.read_bytes()
        assert client.stdin is not None
        client.stdin.write("COMMIT; SELECT 1 FROM item WHERE id = 2;\n\\echo b\n")
        client.stdin.flush()
        assert client.stdout.readline() == "b\n"
        client.communicate(timeout=PATIENCE_S)
    whole = log.read_bytes()
    assert imported(log, schema=definitions).accesses() == [
        (COMMITTED, [("update", "item", 1)]),
        (COMMITTED, [("read", "item", 2)]),
    ]
    first, second = log.with_suffix(".1.csv"), log.with_suffix(".2.csv")
    first.write_bytes(before)
    second.write_bytes(whole[len(before) :])
    cut = imported(first, schema=definitions)
    assert (cut.table.num_rows, cut.left_out.counts[NO_END]) == (0, 1)
    rest = imported(second, schema=definitions)
    assert rest.accesses() == [(COMMITTED, [("read", "item", 2)])]
    assert rest.left_out.counts[NO_BEGIN] == 1
    # Two files of one log are one log.
    both = imported(first, second, schema=definitions)
    assert both.accesses() == imported(log, schema=definitions).accesses()


@pytest.mark.parametrize("way", ["leaves", "is cut off", "crash"])
def test_a_session_that_ends_takes_its_transaction_with_it(
    postgresql: Server, definitions: Path, way: str
) -> None:
    name = f"ends-{way.replace(' ', '-')}"
    with postgresql.logging(name, log_disconnections="on", **STATEMENT) as log:
        client = postgresql.start_client(
            "BEGIN; UPDATE item SET price = 1 WHERE id = 3;\n\\echo a\n"
        )
        assert client.stdout is not None
        assert client.stdout.readline() == "a\n"
        if way == "is cut off":
            postgresql.psql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE state = 'idle in transaction';"
            )
        if way == "crash":
            _wait_for(log, "WHERE id = 3")
            postgresql.crash()
        client.communicate(timeout=PATIENCE_S)
        if way == "crash":
            postgresql.restart()
    assert imported(log, schema=definitions).accesses() == [("aborted", [("update", "item", 3)])]


def _wait_for(log: Path, text: str) -> None:
    """Wait for the log collector, which writes after the server."""
    wait_until(lambda: text in log.read_text())
