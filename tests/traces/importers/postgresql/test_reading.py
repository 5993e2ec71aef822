"""What statements touch, by their text alone."""

from __future__ import annotations

import pytest

from traces.importers.postgresql.accesses import FUNCTION, KEY_NOT_NAMED, NOT_PARSED
from traces.importers.postgresql.key_values import UnknownValueError, keys_of
from traces.importers.postgresql.table_keys import TableDefinition, TableKeys
from traces.importers.postgresql.templates import Templates

DEFINITIONS = {
    "item": TableDefinition(("id", "name", "price"), ("id",)),
    "stock": TableDefinition(("w", "i", "quantity"), ("w", "i")),
    "heap": TableDefinition(("a", "b"), ()),
}

Made = tuple[str, str, list[str]]
"""Kind, table, keys."""


def touched(
    sql: str, parameters: list[str] | None = None, templates: Templates | None = None
) -> tuple[list[Made], set[str]]:
    """The accesses of a statement, and what could not be read of it."""
    if templates is None:
        templates = Templates(TableKeys(DEFINITIONS))
    made, faults = [], set()
    parts, plans = templates.statements(sql)
    for planned in plans:
        faults |= set(planned.template.accesses.faults)
        for step in planned.steps:
            keys = [] if step.access.key is None else keys_of(step, parts, parameters)
            made.append((step.access.kind, step.access.table, keys))
    return made, faults


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
        ("SELECT app.sell(3)", FUNCTION),
        ("SELECT * FROM sell(3)", FUNCTION),
        ("CALL sell(3)", FUNCTION),
        ("SELECT FROM WHERE", NOT_PARSED),
        ("SELECT " + "(" * 2000 + "1" + ")" * 2000, NOT_PARSED),
    ],
)
def test_what_can_not_be_read(sql: str, fault: str) -> None:
    assert touched(sql)[1] == {fault}


def test_parameters() -> None:
    sql = "SELECT * FROM stock WHERE w = $2 AND i = ANY($1::int[])"
    parameters = ["""'{1,"2"}'""", "'-7'"]
    assert touched(sql, parameters)[0] == [("read", "stock", ["-7\x1f1", "-7\x1f2"])]
    for missing in (None, parameters[:1]):
        with pytest.raises(UnknownValueError):
            touched(sql, missing)


def test_inserts_take_the_key_that_others_ask_by_later() -> None:
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
    templates = Templates(TableKeys(DEFINITIONS))
    for number in range(100):
        touched(f"SELECT * FROM item WHERE id = {number}", None, templates)
        touched(f"select * from item where id={-number} -- {number}", None, templates)
    assert len(parsed) == 1
