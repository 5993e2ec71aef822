"""The accesses of statements, from their text alone."""

from __future__ import annotations

import pytest

from tests.traces.importers.postgresql import statements
from tests.traces.importers.postgresql.statements import Made
from traces.importers.postgresql.accesses import (
    ADVISORY_NOT_NAMED,
    DOES_NOTHING,
    EXECUTED,
    FUNCTION,
    KEY_NOT_NAMED,
    LOCK_NOT_NAMED,
    NO_DEFINITION,
    NOT_PARSED,
    OTHER_KEY,
    SESSION_LOCKED,
    SKIPPED_ROWS,
    TABLE_LOCKED,
)
from traces.importers.postgresql.catalog import Catalog, TableDefinition
from traces.importers.postgresql.constants import UnknownValueError
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.templates import Templates

CATALOG = Catalog(
    {
        "item": TableDefinition(("id", "name", "price"), ("id",), {}, {"item_pkey": ("id",)}),
        "stock": TableDefinition(("w", "i", "quantity"), ("w", "i")),
        "heap": TableDefinition(("a", "b"), ()),
        "person": TableDefinition(("id", "email"), ("id",), {}, {"one_email": ("email",)}),
    }
)


def touched(
    sql: str, parameters: list[str] | None = None, templates: Templates | None = None
) -> tuple[list[Made], set[str]]:
    """Return the accesses of a statement, and the reasons of omissions and guesses."""
    return statements.touched(sql, parameters, templates or Templates(TableKeys(CATALOG)))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM item WHERE 5 = id", [("read", "item", ["5"])]),
        ("SELECT * FROM item x WHERE (x.id) = 5::bigint", [("read", "item", ["5"])]),
        ("SELECT * FROM item WHERE id = 1 OR id = 2", [("scan", "item", [""])]),
        ("SELECT * FROM item WHERE NOT id = 1", [("scan", "item", [""])]),
        ("SELECT * FROM item WHERE id = ANY(ARRAY[1, 2])", [("read", "item", ["1", "2"])]),
        (
            "SELECT * FROM stock WHERE w IN (1, 2) AND i IN (3, 4)",
            [("read", "stock", ["1\x1f3", "1\x1f4", "2\x1f3", "2\x1f4"])],
        ),
        ("SELECT * FROM stock WHERE w = 1 AND quantity = 2", [("scan", "stock", ["1"])]),
        ("SELECT * FROM stock WHERE w = 1 AND i < 9", [("scan", "stock", ["1"])]),
        ("SELECT * FROM stock WHERE (w, i) = (1, 2)", [("read", "stock", ["1\x1f2"])]),
        ("TABLE item", [("scan", "item", [""])]),
        ("VALUES (1), (2)", []),
        ("SELECT now(), count(*) FROM pg_catalog.pg_class", []),
        ("SELECT * FROM generate_series(1, 3) n JOIN item ON id = 4", [("read", "item", ["4"])]),
        (
            "SELECT * FROM item WHERE id = 1 UNION ALL SELECT * FROM item WHERE id = 2",
            [("read", "item", ["1"]), ("read", "item", ["2"])],
        ),
        (
            "SELECT * FROM item, stock WHERE item.id = i AND w = 1 AND i = 2",
            [("read", "item", ["2"]), ("read", "stock", ["1\x1f2"])],
        ),
        (
            "SELECT * FROM item LEFT JOIN stock ON i = id AND w = 3 WHERE id = 4",
            [("read", "item", ["4"]), ("read", "stock", ["3\x1f4"])],
        ),
        (
            "SELECT * FROM item WHERE id = 4"
            " AND EXISTS (SELECT 1 FROM stock WHERE w = 1 AND i = id)",
            [("read", "item", ["4"]), ("read", "stock", ["1\x1f4"])],
        ),
        (
            "SELECT * FROM (SELECT id AS n, price FROM item) s WHERE s.n = 8",
            [("read", "item", ["8"])],
        ),
        (
            "WITH RECURSIVE r AS (SELECT id FROM item WHERE id = 1 UNION SELECT r.id FROM r)"
            " SELECT * FROM r",
            [("read", "item", ["1"])],
        ),
        (
            "WITH gone AS (DELETE FROM stock WHERE w = 1 AND i = 2 RETURNING i)"
            " UPDATE item SET price = 0 FROM gone WHERE id = 2",
            [("delete", "stock", ["1\x1f2"]), ("update", "item", ["2"])],
        ),
        ("INSERT INTO item SELECT 7, 'x', 1", [("insert", "item", ["7"])]),
        ("INSERT INTO item DEFAULT VALUES", [("insert", "item", [])]),
        ("INSERT INTO heap VALUES (1, 2)", [("insert", "heap", [])]),
        (
            "MERGE INTO item USING (VALUES (5, 'a')) s (k, n) ON id = s.k"
            " WHEN MATCHED THEN UPDATE SET name = n WHEN NOT MATCHED THEN INSERT VALUES (k, n, 1)",
            [("update", "item", ["5"])],
        ),
        ("COPY (SELECT * FROM item WHERE id = 2) TO STDOUT", [("read", "item", ["2"])]),
        ("COPY public.item (id, name) TO '/tmp/x' WITH (FORMAT csv)", [("scan", "item", [""])]),
        ("DECLARE c NO SCROLL CURSOR WITH HOLD FOR TABLE item", [("scan", "item", [""])]),
        ("EXPLAIN SELECT * FROM item", []),
        ("VACUUM item", []),
    ],
)
def test_accesses(sql: str, expected: list[Made]) -> None:
    assert touched(sql) == (expected, set())


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("UPDATE item SET price = 1 WHERE id > 3", KEY_NOT_NAMED),
        ("DELETE FROM item", KEY_NOT_NAMED),
        ("INSERT INTO item SELECT * FROM item", KEY_NOT_NAMED),
        ("INSERT INTO item VALUES (1, 'a', 2), (2, now(), 2)", KEY_NOT_NAMED),
        ("TRUNCATE item", KEY_NOT_NAMED),
        ("REFRESH MATERIALIZED VIEW CONCURRENTLY totals", KEY_NOT_NAMED),
        ("UPDATE item SET id = id + 1 WHERE id = 3", KEY_NOT_NAMED),
        ("UPDATE item SET (id, price) = (SELECT 4, 5) WHERE id = 3", KEY_NOT_NAMED),
        ("INSERT INTO item VALUES (1) ON CONFLICT (id) DO UPDATE SET id = 7", KEY_NOT_NAMED),
        ("INSERT INTO person VALUES (1) ON CONFLICT (lower(email)) DO NOTHING", KEY_NOT_NAMED),
        ("SELECT * FROM item WHERE price > 3 FOR UPDATE", LOCK_NOT_NAMED),
        ("SELECT * FROM item ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", LOCK_NOT_NAMED),
        ("LOCK TABLE item IN SHARE MODE", TABLE_LOCKED),
        ("SELECT pg_advisory_lock(3)", SESSION_LOCKED),
        ("SELECT pg_try_advisory_lock(3)", SESSION_LOCKED),
        ("SELECT pg_advisory_xact_lock(id) FROM item WHERE id = 1", ADVISORY_NOT_NAMED),
        ("EXPLAIN (ANALYZE, COSTS OFF) DELETE FROM item", KEY_NOT_NAMED),
        ("EXPLAIN ANALYZE EXECUTE p(1)", EXECUTED),
        ("EXECUTE p", EXECUTED),
        ("SELECT * FROM nowhere WHERE id = 1", NO_DEFINITION),
        ("INSERT INTO item VALUES (1) ON CONFLICT DO NOTHING", DOES_NOTHING),
        ("SELECT app.sell(3)", FUNCTION),
        ("SELECT * FROM sell(3)", FUNCTION),
        ("CALL sell(3)", FUNCTION),
        ("SELECT FROM WHERE", NOT_PARSED),
        ("SELECT " + "(" * 2000 + "1" + ")" * 2000, NOT_PARSED),
    ],
)
def test_unreadable_statements(sql: str, fault: str) -> None:
    assert fault in touched(sql)[1]


def test_parameters() -> None:
    sql = "SELECT * FROM stock WHERE w = $2 AND i = ANY($1::int[])"
    parameters = ["""'{1,"2"}'""", "'-7'"]
    assert touched(sql, parameters)[0] == [("read", "stock", ["-7\x1f1", "-7\x1f2"])]
    for missing in (None, parameters[:1]):
        with pytest.raises(UnknownValueError):
            touched(sql, missing)


def test_insertions_adopt_a_key_that_is_guessed_later() -> None:
    templates = Templates(TableKeys())
    insert = "INSERT INTO t (b, a) VALUES (1, 2), (3, 4)"
    assert touched(insert, None, templates)[0] == [("insert", "t", ["2\x1f1", "4\x1f3"])]
    assert touched("SELECT * FROM t WHERE a = 9", None, templates)[0] == [("read", "t", ["9"])]
    assert touched(insert, None, templates)[0] == [("insert", "t", ["2", "4"])]


def test_a_statement_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlglot

    parsed = []
    parse = sqlglot.parse_one

    def counted(sql: str, **options: object) -> object:
        parsed.append(sql)
        return parse(sql, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(sqlglot, "parse_one", counted)
    templates = Templates(TableKeys(CATALOG))
    for number in range(100):
        touched(f"SELECT * FROM item WHERE id = {number}", None, templates)
        touched(f"select * from item where id={-number} -- {number}", None, templates)
    assert len(parsed) == 1


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM item WHERE id = 1 FOR UPDATE", [("update", "item", ["1"])]),
        ("SELECT * FROM item WHERE id = 1 FOR NO KEY UPDATE", [("update", "item", ["1"])]),
        ("SELECT * FROM item WHERE id = 1 FOR UPDATE NOWAIT", [("update", "item", ["1"])]),
        ("SELECT * FROM item WHERE id = 1 FOR SHARE", [("read", "item", ["1"])]),
        ("SELECT * FROM item WHERE id = 1 FOR KEY SHARE", [("read", "item", ["1"])]),
        (
            "SELECT * FROM (SELECT * FROM item) s WHERE id = 1 FOR UPDATE",
            [("update", "item", ["1"])],
        ),
        (
            "WITH w AS (SELECT * FROM item WHERE id = 1) SELECT * FROM w FOR UPDATE",
            [("read", "item", ["1"])],
        ),
        (
            "SELECT * FROM item a JOIN stock b ON b.i = a.id AND b.w = 2 WHERE a.id = 1"
            " FOR SHARE OF a FOR UPDATE OF b",
            [("read", "item", ["1"]), ("update", "stock", ["2\x1f1"])],
        ),
        ("SELECT pg_advisory_xact_lock(7)", [("update", "advisory_lock", ["7"])]),
        ("SELECT pg_advisory_xact_lock('007'::bigint)", [("update", "advisory_lock", ["7"])]),
        ("SELECT pg_advisory_xact_lock('007')", [("update", "advisory_lock", ["7"])]),
        (
            "SELECT pg_catalog.pg_advisory_xact_lock(1, 2)",
            [("update", "advisory_lock", ["1\x1f2"])],
        ),
        ("SELECT pg_advisory_xact_lock_shared(7)", [("read", "advisory_lock", ["7"])]),
        (
            "SELECT pg_advisory_xact_lock(hashtext('a')::bigint)",
            [("update", "advisory_lock", ["hashtext\x1fa"])],
        ),
        ("SELECT pg_advisory_unlock(7)", []),
    ],
)
def test_locks(sql: str, expected: list[Made]) -> None:
    assert touched(sql) == (expected, set())


@pytest.mark.parametrize(
    ("sql", "expected", "reasons"),
    [
        ("SELECT 1 FROM item WHERE id = 1 FOR UPDATE SKIP LOCKED", ["1"], {SKIPPED_ROWS}),
        ("INSERT INTO item VALUES (1), (2) ON CONFLICT (id) DO UPDATE SET price = 1",
         ["1", "2"], set()),
        ("INSERT INTO item AS x VALUES (1) ON CONFLICT ON CONSTRAINT item_pkey"
         " DO UPDATE SET price = x.price + 1 WHERE x.price > 0", ["1"], set()),
        ("INSERT INTO item VALUES (1) ON CONFLICT (id) DO UPDATE SET id = excluded.id",
         ["1"], set()),
        ("INSERT INTO item SELECT 1 ON CONFLICT (id) DO UPDATE SET price = 1", ["1"], set()),
        ("INSERT INTO item OVERRIDING SYSTEM VALUE VALUES (1)"
         " ON CONFLICT (id) DO UPDATE SET price = 1", ["1"], set()),
        ("MERGE INTO item t USING (VALUES (1), (2)) s (k) ON t.id = s.k"
         " WHEN MATCHED THEN UPDATE SET price = 1 WHEN NOT MATCHED THEN INSERT VALUES (k)",
         ["1", "2"], set()),
        ("MERGE INTO item t USING (SELECT 1 AS k) s ON t.id = s.k"
         " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (k)", ["1"], set()),
        ("EXPLAIN ANALYZE VERBOSE UPDATE item SET price = 1 WHERE id = 3", ["3"], set()),
        ("EXPLAIN (COSTS OFF, ANALYZE) UPDATE item SET price = 1 WHERE id = 3", ["3"], set()),
    ],
)  # fmt: skip
def test_updates_of_the_existing_row(sql: str, expected: list[str], reasons: set[str]) -> None:
    (made, found) = touched(sql)
    assert (made, found) == ([("update", "item", expected)], reasons)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("EXPLAIN UPDATE item SET price = 1 WHERE id = 3", []),
        ("EXPLAIN (ANALYZE OFF) DELETE FROM item WHERE id = 3", []),
        ("EXPLAIN (ANALYZE false) DELETE FROM item WHERE id = 3", []),
        ("EXPLAIN (ANALYZE 0) DELETE FROM item WHERE id = 3", []),
        ("/* a */ explain (verbose, analyze 'false') DELETE FROM item WHERE id = 3", []),
        ("SELECT 1; EXPLAIN (ANALYZE 0) DELETE FROM item WHERE id = 3", []),
        ("EXPLAIN (BUFFERS 0, ANALYZE 1) DELETE FROM item WHERE id = 3",
         [("delete", "item", ["3"])]),
        ("CREATE TEMP TABLE x ON COMMIT DROP AS SELECT * FROM item WHERE id = 3",
         [("read", "item", ["3"])]),
        ("CREATE VIEW x AS SELECT * FROM item WHERE id = 3", []),
        ("CREATE TABLE x AS SELECT * FROM item WHERE id = 3 WITH NO DATA", []),
        ("SELECT * INTO x FROM item WHERE id = 3", [("read", "item", ["3"])]),
        ("UPDATE item SET id = 5 WHERE id = 3",
         [("update", "item", ["3"]), ("update", "item", ["5"])]),
        ("UPDATE item SET (price, id) = (1, 5) WHERE id = 3",
         [("update", "item", ["3"]), ("update", "item", ["5"])]),
        ("UPDATE stock SET w = 2 WHERE w = 1 AND i IN (7, 8)",
         [("update", "stock", ["1\x1f7", "1\x1f8"]), ("update", "stock", ["2\x1f7", "2\x1f8"])]),
        ("UPDATE item SET id = 3, price = 2 WHERE id = 3",
         [("update", "item", ["3"]), ("update", "item", [])]),
        ("UPDATE item i SET id = i.id WHERE id = 3", [("update", "item", ["3"])]),
        ("MERGE INTO item t USING (SELECT 1 AS k) s ON t.id = s.k WHEN MATCHED THEN DELETE",
         [("delete", "item", ["1"])]),
    ],
)  # fmt: skip
def test_executed_queries(sql: str, expected: list[Made]) -> None:
    assert touched(sql) == (expected, set())


def test_an_upsert_by_another_constraint_has_its_own_row() -> None:
    for target in ("(email)", "ON CONSTRAINT one_email"):
        sql = f"INSERT INTO person (email) VALUES ('a'), ('b') ON CONFLICT {target}"
        made, reasons = touched(f"{sql} DO UPDATE SET email = 'c'")
        assert made == [("update", "person", ["email\x1fa", "email\x1fb"])]
        assert reasons == {OTHER_KEY}


@pytest.mark.parametrize(
    ("sql", "keys"),
    [
        ("UPDATE item SET price = 1 WHERE id = $1", []),
        ("UPDATE item SET price = 1 WHERE id = NULL", []),
        ("UPDATE item SET price = 1 WHERE id IN (1, NULL, $1, 3)", ["1", "3"]),
        ("UPDATE item SET price = 1 WHERE id = ANY($2)", ["1", "3", "NULL"]),
        ("UPDATE item SET price = 1 WHERE id = ANY($1)", []),
        ("SELECT * FROM item WHERE id > $1", []),
        ("SELECT * FROM stock WHERE w = $1 AND i = 2", []),
        ("SELECT * FROM stock WHERE w = $1", []),
        ("SELECT * FROM stock WHERE (w, i) IN ((1, NULL), ($1, 2), (3, 4))", ["3\x1f4"]),
        ("DELETE FROM item USING (VALUES ($1), (2)) s (k) WHERE id = s.k", ["2"]),
    ],
)
def test_nothing_equals_null(sql: str, keys: list[str]) -> None:
    made, reasons = touched(sql, ["NULL", """'{1,NULL,3,"NULL"}'"""])
    assert [one for _, _, found in made for one in found] == keys
    assert not reasons


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("INSERT INTO item (id, price) SELECT unnest($1::int[]), unnest($2)", "insert"),
        (
            "INSERT INTO item (id, price) SELECT * FROM unnest($1::int[], $2) ON CONFLICT (id)"
            " DO UPDATE SET price = 1",
            "update",
        ),
        ("INSERT INTO item (price, id) SELECT u.p, u.i FROM unnest($1, $2) u (i, p)", "insert"),
        ("UPDATE item SET price = p FROM unnest($1, $2) u (i, p) WHERE id = u.i", "update"),
        ("SELECT * FROM item WHERE id IN (SELECT unnest($1))", "read"),
        ("SELECT i.* FROM unnest($1) key JOIN item i ON i.id = key.key", "read"),
    ],
)
def test_arrays_as_rows(sql: str, kind: str) -> None:
    assert touched(sql, ["'{1,2}'", "'{3,4}'"]) == ([(kind, "item", ["1", "2"])], set())


def test_an_upsert_of_a_computed_key_is_counted() -> None:
    upsert = "INSERT INTO item (id) VALUES (abs(1)) ON CONFLICT (id) DO UPDATE SET price = 1"
    assert touched(upsert)[1] == {KEY_NOT_NAMED}
    made_by_the_database = upsert.replace("(id) VALUES (abs(1))", "(name) VALUES ('a')")
    assert touched(made_by_the_database) == ([("insert", "item", [])], set())
