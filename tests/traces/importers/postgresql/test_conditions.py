"""The rows that the conditions of a statement name."""

from __future__ import annotations

import pytest

from tests.traces.importers.postgresql import statements
from tests.traces.importers.postgresql.statements import Made
from traces.importers.postgresql.accesses import KEY_NOT_NAMED, LOCK_NOT_NAMED
from traces.importers.postgresql.catalog import Catalog, TableDefinition
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.templates import Templates

CATALOG = Catalog(
    {
        "acct": TableDefinition(("id", "v"), ("id",)),
        "src": TableDefinition(("id", "aid", "v"), ("id",)),
        "usr": TableDefinition(("id", "email"), ("id",)),
        "pair": TableDefinition(("a", "b", "v"), ("a", "b")),
    }
)
ALL_WRITTEN = ([("scan", "acct", [""])], {KEY_NOT_NAMED})
ALL_LOCKED = ([("scan", "acct", [""])], {LOCK_NOT_NAMED})


def touched(sql: str, *parameters: str) -> tuple[list[Made], set[str]]:
    return statements.touched(sql, list(parameters), Templates(TableKeys(CATALOG)))


def of_table(sql: str, table: str, *parameters: str) -> tuple[list[Made], set[str]]:
    """Return the accesses of a statement to one table."""
    made, reasons = touched(sql, *parameters)
    return [one for one in made if one[1] == table], reasons


def keys(sql: str, *parameters: str) -> list[str]:
    """Return the keys that a statement writes, without any reasons."""
    made, reasons = touched(sql, *parameters)
    assert not reasons
    return [key.replace("\x1f", ",") for kind, _, found in made if kind != "read" for key in found]


INSIDE = "SELECT 1 FROM src WHERE src.id = acct.id AND src.id = 7"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"UPDATE acct SET v = ({INSIDE})", ALL_WRITTEN),
        (f"DELETE FROM acct WHERE NOT EXISTS ({INSIDE})", ALL_WRITTEN),
        (f"DELETE FROM acct WHERE v = ({INSIDE})", ALL_WRITTEN),
        (f"UPDATE acct SET v = 1 WHERE v > 3 OR EXISTS ({INSIDE})", ALL_WRITTEN),
        (f"SELECT * FROM acct WHERE v > 3 OR EXISTS ({INSIDE}) FOR UPDATE", ALL_LOCKED),
        (f"SELECT ({INSIDE}) FROM acct FOR UPDATE", ALL_LOCKED),
        (f"SELECT * FROM acct ORDER BY ({INSIDE}) FOR UPDATE", ALL_LOCKED),
        ("DELETE FROM acct WHERE id NOT IN (SELECT id FROM src WHERE id = 7)", ALL_WRITTEN),
        # A query without groups always has a row.
        (f"DELETE FROM acct WHERE EXISTS ({INSIDE.replace('1', 'count(*)')})", ALL_WRITTEN),
        (f"DELETE FROM acct WHERE EXISTS ({INSIDE} UNION SELECT 1)", ALL_WRITTEN),
        (
            f"SELECT count(*) FILTER (WHERE EXISTS ({INSIDE})) FROM acct",
            ([("scan", "acct", [""])], set()),
        ),
    ],
)
def test_a_subquery_does_not_restrict_the_outer_rows(
    sql: str, expected: tuple[list[Made], set[str]]
) -> None:
    assert of_table(sql, "acct") == expected
    assert ("read", "src", ["7"]) in touched(sql)[0]


@pytest.mark.parametrize(
    "where",
    [
        f"EXISTS ({INSIDE})",
        f"v > 3 AND EXISTS ({INSIDE} LIMIT 1)",
        "id IN (SELECT id FROM src WHERE src.id = 7)",
        "id IN (SELECT s.id FROM src s WHERE s.id = 7 ORDER BY v LIMIT 1)",
        "(v, id) IN (SELECT max(v), id FROM src WHERE id = 7 GROUP BY id)",
    ],
)
def test_a_query_that_must_have_a_row_names_keys(where: str) -> None:
    assert keys(f"UPDATE acct SET v = 1 WHERE {where}") == ["7"]


def test_outer_facts_hold_in_a_subquery() -> None:
    (_, made) = touched("SELECT (SELECT v FROM src WHERE src.id = acct.id) FROM acct WHERE id = 7")[
        0
    ]
    assert made == ("read", "src", ["7"])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM (SELECT * FROM acct ORDER BY v LIMIT 1 FOR UPDATE) s WHERE id = 7",
        "SELECT * FROM (SELECT * FROM acct FOR UPDATE) s WHERE id = 7",
        "WITH s AS (SELECT * FROM acct FOR UPDATE) SELECT * FROM s WHERE id = 7",
        "SELECT * FROM acct LEFT JOIN src ON src.id = acct.id AND acct.id = 7 FOR UPDATE OF acct",
        "SELECT * FROM src RIGHT JOIN acct ON src.id = acct.id AND src.id = 7 FOR UPDATE OF acct",
        "SELECT * FROM acct FULL JOIN src ON src.id = acct.id AND acct.id = 7 FOR UPDATE",
        "SELECT * FROM acct LEFT JOIN (VALUES (7)) x (k) ON acct.id = x.k FOR UPDATE OF acct",
        "SELECT * FROM acct LEFT JOIN (SELECT * FROM src WHERE id = 7) s ON s.id = acct.id"
        " FOR UPDATE OF acct",
    ],
)
def test_rows_that_are_locked_whatever_the_condition(query: str) -> None:
    made, reasons = of_table(query, "acct")
    assert (made, reasons) == ALL_LOCKED


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("acct LEFT JOIN src ON src.id = acct.id WHERE acct.id = 7", {"acct": "7", "src": "7"}),
        ("acct LEFT JOIN src ON src.id = acct.id WHERE src.id = 7", {"acct": "7", "src": "7"}),
        ("acct LEFT JOIN src ON src.id = acct.id", {"acct": "", "src": ""}),
        ("acct LEFT JOIN src ON src.id = 7", {"acct": "", "src": "7"}),
        ("acct RIGHT JOIN src ON src.id = acct.id WHERE src.id = 7", {"acct": "7", "src": "7"}),
        ("acct a FULL JOIN src s ON s.id = a.id WHERE s.id = 7", {"acct": "7", "src": "7"}),
        ("acct FULL JOIN src ON src.id = 7 AND acct.id = 7", {"acct": "", "src": ""}),
        (
            "acct JOIN src USING (id) LEFT JOIN usr USING (id) WHERE acct.id = 7",
            {"acct": "7", "src": "7", "usr": "7"},
        ),
        (
            "acct, src JOIN usr USING (id) WHERE acct.id = 7",
            {"acct": "7", "src": "", "usr": ""},
        ),
        (
            "acct LEFT JOIN (src JOIN usr ON usr.id = src.id) ON src.id = acct.id"
            " WHERE acct.id = 7",
            {"acct": "7", "src": "7", "usr": "7"},
        ),
    ],
)
def test_joins(sql: str, reads: dict[str, str]) -> None:
    made, reasons = touched(f"SELECT * FROM {sql}")
    assert not reasons
    assert {table: found[0] for _, table, found in made} == reads
    assert all(kind == ("read" if found[0] else "scan") for kind, _, found in made)


def test_a_table_is_listed_once() -> None:
    sql = "DELETE FROM acct USING src s LEFT JOIN usr u ON s.id = 7 WHERE s.id = acct.id"
    made, reasons = touched(sql)
    assert made == [("scan", table, [""]) for table in ("src", "usr", "acct")]
    assert reasons == {KEY_NOT_NAMED}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("UPDATE pair SET v = x.v FROM (VALUES (1, 10, 5), (2, 20, 6)) AS x (a, b, v)"
         " WHERE pair.a = x.a AND pair.b = x.b", ["1,10", "2,20"]),
        ("UPDATE pair SET v = 1 FROM unnest($1, $2) x (a, b) WHERE pair.a = x.a AND pair.b = x.b",
         ["1,10", "3,30"]),
        ("UPDATE pair SET v = 1 FROM unnest($1, $3) x (a, b) WHERE pair.a = x.a AND pair.b = x.b",
         ["1,10"]),
        ("DELETE FROM pair USING (VALUES (1, 10), (2, 20)) x (a, b)"
         " WHERE pair.a = x.a AND pair.b = x.b AND x.a = 2", ["2,20"]),
        ("MERGE INTO pair p USING (VALUES (1, 10), (2, 20)) AS x (a, b) ON p.a = x.a AND p.b = x.b"
         " WHEN MATCHED THEN DELETE", ["1,10", "2,20"]),
        ("WITH x (a, b) AS (VALUES (1, 10), (2, 20)) DELETE FROM pair USING x"
         " WHERE pair.a = x.a AND pair.b = x.b", ["1,10", "2,20"]),
        ("DELETE FROM pair WHERE (a, b) IN (VALUES (1, 10), (2, 20))", ["1,10", "2,20"]),
        ("DELETE FROM pair WHERE (a, b) IN (SELECT unnest($1), unnest($2))", ["1,10", "3,30"]),
        ("DELETE FROM pair WHERE (a, b) IN (SELECT x.a, x.b FROM unnest($1, $2) x (a, b))",
         ["1,10", "3,30"]),
        ("DELETE FROM pair WHERE (a, b) IN ((1, 10), (2, 20)) AND (a, b) IN ((1, 20), (2, 20))",
         ["2,20"]),
        ("DELETE FROM pair USING (VALUES (1), (2)) x (a) WHERE pair.a = x.a AND b IN (5, 6)",
         ["1,5", "1,6", "2,5", "2,6"]),
    ],
)  # fmt: skip
def test_values_of_one_row_belong_together(sql: str, expected: list[str]) -> None:
    assert keys(sql, "'{1,2,3}'", "'{10,NULL,30}'", "'{10}'") == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("id IN (1, 2, 3) AND id = 2", ["2"]),
        ("id = ANY($1) AND id IN (3, 4)", ["3"]),
        ("id IN (SELECT unnest($1)) AND id = 2", ["2"]),
        ("id = 7 AND id = 8", []),
        ("id = 7 AND false", []),
        ("id = 7 AND NULL", []),
        ("id = 7 AND v = NULL", []),
        ("id = 7 AND v < NULL", []),
        ("id = 7 AND v <> NULL::int", []),
        ("id = 7 AND v BETWEEN 1 AND NULL", []),
        ("id = 7 AND v = $2", []),
        ("id = 7 AND v > $2", []),
        ("id = 7 AND v IN (NULL, $2)", []),
        ("id = 7 AND v = ANY('{}')", []),
        ("id = 7 AND v = 1", ["7"]),
        ("id = 7 AND v IN (NULL, 1)", ["7"]),
        ("id = 7 AND v = $3", ["7"]),  # its value is not in the log
        ("id > NULL", []),
        ("id = 7 AND EXISTS (SELECT 1 FROM src WHERE src.id = NULL)", []),
    ],
)
def test_every_condition_narrows(where: str, expected: list[str]) -> None:
    assert keys(f"UPDATE acct SET v = 1 WHERE {where}", "'{1,2,3}'", "NULL") == expected


@pytest.mark.parametrize(
    "where",
    [
        "id IN (SELECT unnest($1) LIMIT 1)",
        "id IN (SELECT id FROM src WHERE id IN (1, 2, 3) LIMIT 1)",
        "id IN (SELECT k FROM (SELECT unnest($1) AS k OFFSET 1) s)",
    ],
)
def test_a_limit_leaves_the_rows_open(where: str) -> None:
    sql = f"UPDATE acct SET v = 1 WHERE {where}"
    assert of_table(sql, "acct", "'{1,2,3}'") == ALL_WRITTEN


def test_a_range_below_null_is_empty() -> None:
    assert touched("SELECT * FROM acct WHERE id < $1", "NULL") == ([], set())


def test_two_uses_of_a_query_of_with_are_distinct() -> None:
    sql = "WITH w AS (SELECT * FROM acct) SELECT * FROM w a, w b WHERE a.id = 7 AND b.id = 8"
    assert touched(sql) == ([("scan", "acct", [""])], set())
    later = "WITH a AS (SELECT * FROM src), src AS (SELECT * FROM usr WHERE id = 1) SELECT * FROM a"
    assert ("scan", "src", [""]) in touched(later)[0]
    own = "WITH acct AS (SELECT * FROM acct WHERE id = 7) SELECT * FROM acct"
    assert touched(own) == ([("read", "acct", ["7"])], set())
    once = "WITH w AS (SELECT * FROM acct) SELECT * FROM w WHERE id = 7"
    assert touched(once) == ([("read", "acct", ["7"])], set())


def test_a_lock_of_a_query_in_parentheses() -> None:
    for query in ("(SELECT * FROM acct WHERE id = 7)", "((SELECT * FROM acct WHERE id = 7))"):
        assert touched(f"{query} FOR UPDATE") == ([("update", "acct", ["7"])], set())


def test_aliases_respect_quotes() -> None:
    sql = 'UPDATE acct AS "A" SET v = 1 FROM src AS a WHERE "A".id = 1 AND A.id = 2'
    assert touched(sql) == ([("read", "src", ["2"]), ("update", "acct", ["1"])], set())


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("acct SET id = x.id FROM (VALUES (5)) AS x (id) WHERE acct.id = 3", ["3", "5"]),
        ("acct SET id = x.new FROM (VALUES (1, 5), (2, 6)) x (old, new) WHERE acct.id = x.old",
         ["1", "2", "5", "6"]),
        ("acct SET id = src.id FROM src WHERE src.id = 9 AND acct.id = 3", ["3", "9"]),
        ("acct SET id = src.id FROM src WHERE src.id = acct.id AND acct.id = 3", ["3"]),
        ("acct SET id = $1 WHERE id = $2", []),
        ("acct SET id = 5 WHERE id = 3 AND v = $2", []),
        ("pair SET a = 3 WHERE (a, b) IN ((1, 2), (3, 4))", ["1,2", "3,4", "3,2"]),
        ("pair SET a = b, b = a WHERE a = 1 AND b = 2", ["1,2", "2,1"]),
        ("pair SET a = 3 WHERE a IN (1, 2) AND a = 2 AND b = 7", ["2,7", "3,7"]),
    ],
)  # fmt: skip
def test_setting_a_key_writes_another_row(sql: str, expected: list[str]) -> None:
    assert keys(f"UPDATE {sql}", "'5'", "NULL") == expected


@pytest.mark.parametrize("value", ["id + 1", "DEFAULT", "src.aid", "(SELECT 5)", "src.v"])
def test_setting_a_key_to_an_unknown_value(value: str) -> None:
    sql = f"UPDATE acct SET id = {value} FROM src WHERE src.id = 9 AND acct.id = 3"
    assert of_table(sql, "acct") == ([("update", "acct", ["3"])], {KEY_NOT_NAMED})
