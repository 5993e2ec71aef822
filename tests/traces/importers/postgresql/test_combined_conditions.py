"""Several conditions on one column, or on constants."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.scale import scaled
from tests.traces.importers.postgresql.imported import imported
from tests.traces.importers.postgresql.logs import write_log
from tests.traces.importers.postgresql.server import Server
from tests.traces.importers.postgresql.statements import touched
from tests.traces.importers.postgresql.test_casts import of_type
from traces.errors import TraceError
from traces.importers import numbers_as_text
from traces.importers.postgresql.accesses import (
    KEY_NOT_NAMED,
    LOCK_NOT_NAMED,
    NO_CAST,
    NO_DEFINITION,
    NOT_EVALUATED,
    SKIPPED_ROWS,
    TRIGGER,
)
from traces.importers.postgresql.catalog import Catalog, TableDefinition
from traces.importers.postgresql.log import NO_ACCESS
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.templates import Templates

LISTED = [
    ("integer", "1,2,3", "id > 1", "2,3"),
    ("integer", "1,2,3", "1 < id", "2,3"),
    ("integer", "1,2,3", "id > 1 AND id < 3", "2"),
    ("integer", "1,2,3", "id > 1.5 AND id <> 3", "2"),
    ("integer", "1,2,3", "id >= '2'", "2,3"),
    ("integer", "9,10", "id > 9", "10"),
    ("integer", "-1,2", "id < 0", "-1"),
    ("integer", "1,2,3", "id BETWEEN 2 AND 9", "2,3"),
    ("integer", "1,2,3", "id NOT IN (2, 3)", "1"),
    ("integer", "1,2,3", "id NOT IN (2, NULL)", ""),
    ("integer", "1,2,3", "id <> ALL('{1,3}'::int[])", "2"),
    ("integer", "1,2,3", "NOT id = 2", "1,3"),
    ("integer", "1,2,3", "NOT (id = 2 OR id > 2)", "1"),
    ("integer", "1,2,3", "NOT id <> 2", "2"),
    ("integer", "1,2,3", "id IS NOT NULL", "1,2,3"),
    ("integer", "1,2,3", "id = 4", ""),
    ("integer", "1,2", "1 = 0", ""),
    ("integer", "1,2", "1 = 1 AND 'a' <> 'b' AND 2 > 1.5", "1,2"),
    ("integer", "1,2", "'a' = 'b'", ""),
    ("integer", "1,2", "'2026-01-02'::date < '2026-01-01'::date", ""),
    ("integer", "1,2", "NOT true", ""),
    ("integer", "1,2", "id = 1.5", ""),
    ("numeric", "1.5,2.25,10", "id > 2", "2.25,10"),
    ("double precision", "0.1,0.5", "id > 0.1", "0.5"),
    ("real", "0.5,0.1", "id > 0.1", "0.5,0.1"),
    ("date", "2026-01-02,2026-11-01", "id > '2026-02-01'", "2026-11-01"),
    ("date", "2026-01-02,2026-11-01", "id > '2026-02-01 09:00'::timestamp", "2026-11-01"),
    ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "id < '{B}'".replace("B", "b" * 32), None),
    ("boolean", "t,f", "id <> 'yes'", "false"),
    ("text", "a,b", "id <> 'a'", "b"),
    ("char(3)", "a,b", "id <> 'a '", "b"),
]
"""The type of a key, listed keys, a further condition, and the remaining keys."""


def asked(kind: str, listed: str, condition: str) -> str:
    values = ", ".join(f"'{one}'" for one in listed.split(","))
    return f"id IN ({values}) AND {condition}"


@pytest.mark.parametrize(("kind", "listed", "condition", "left"), LISTED)
def test_conditions_exclude_keys(kind: str, listed: str, condition: str, left: str | None) -> None:
    left = listed if left is None else left
    sql = f"UPDATE t SET v = 1 WHERE {asked(kind, listed, condition)}"
    made, reasons = touched(sql, None, of_type(kind))
    keys = [key for _, _, keys in made for key in keys]
    if kind == "real":
        assert len(keys) == len(left.split(","))
    else:
        assert ",".join(keys) == left
    assert reasons == set()


def test_the_server_excludes_the_same_keys(postgresql: Server) -> None:
    queries = [
        f"SELECT count(*) FROM (SELECT unnest('{{{listed}}}'::{kind}[]) AS id) t"
        f" WHERE {asked(kind, listed, condition)};"
        for kind, listed, condition, _ in LISTED
    ]
    with postgresql.running():
        answers = postgresql.psql("\n".join(queries)).split()
    wanted = [listed if left is None else left for _, listed, _, left in LISTED]
    counts = [len(one.split(",")) if one else 0 for one in wanted]
    assert [int(one) for one in answers] == counts


@pytest.mark.parametrize(
    "where",
    [
        *("false", "1 = 0", "id = 1 AND id = 2", "id = 5 AND id BETWEEN 1 AND 3"),
        *("v = 1 AND v = 2", "v > 3 AND v < 2", "v > 3 AND v <= 3", "v BETWEEN 3 AND 2"),
        *("id = 1 AND v = 3 AND v > 5", "id > 3 AND v > 1 AND v < 0", "id = 7.5"),
    ],
)
def test_conditions_that_no_row_fulfils(where: str) -> None:
    for sql in (f"UPDATE t SET v = 1 WHERE {where}", f"SELECT * FROM t WHERE {where} FOR UPDATE"):
        made, reasons = touched(sql, None, of_type("integer"))
        assert ([keys for _, _, keys in made if keys], reasons) == ([], set())


def test_effects_of_a_write_count_only_if_a_row_is_written() -> None:
    definition = TableDefinition(("id", "v"), ("id",), {"id": "integer"})
    catalog = Catalog({"t": definition}, triggers=frozenset({"t"}))
    sql = "UPDATE t SET v = 1 WHERE v = $1 AND {}"
    for condition, reasons in (("1 = 1", {TRIGGER, KEY_NOT_NAMED}), ("1 = 0", set())):
        templates = Templates(TableKeys(catalog))
        assert touched(sql.format(condition), ["'3'"], templates)[1] == reasons
    assert touched(sql.format("2 = 2"), ["NULL"], Templates(TableKeys(catalog))) == ([], set())


@pytest.mark.parametrize("where", ["v > 3 AND v < 9", "v > 3 AND v > 4", "v > 3 AND v <> 3"])
def test_ranges_with_rows_are_scans(where: str) -> None:
    assert touched(f"SELECT * FROM t WHERE {where}", None, of_type("integer")) == (
        [("scan", "t", [""])],
        set(),
    )


@pytest.mark.parametrize(
    ("kind", "where", "start"),
    [
        ("integer", "id > 5 AND id >= 8", "8"),
        ("integer", "id > 10 AND 9 < id AND id < 20", "10"),
        ("integer", "id > 5 AND id > 7.5", "7.5"),
        ("date", "id > '2026-01-02' AND id > '2026-01-10'", "2026-01-10"),
    ],
)
def test_a_range_begins_at_its_greatest_bound(kind: str, where: str, start: str) -> None:
    found = touched(f"SELECT * FROM t WHERE {where}", None, of_type(kind))
    assert found == ([("scan", "t", [start])], set())
    unknown = touched("SELECT * FROM t WHERE id > 'b' AND id > 'a'", None, of_type("text"))
    assert unknown == ([("scan", "t", ["b"])], {NOT_EVALUATED})


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("text", "id IN ('a', 'b') AND id > 'a'"),
        ("interval", "id = '1 day' AND id <> '2 days'"),
        ("integer", "id IN (1, 2) AND id % 2 = 0"),
        ("integer", "id IN (1, 2) AND (id = 1 OR id = 3)"),
        ("integer", "id = 1 AND id IN (1, 1 + 1)"),
        ("integer", "id = 1 AND NOT id BETWEEN 2 AND 3"),
        ("integer", "id = 1 AND id IN (abs(1))"),
        ("integer", "id = 1 AND 1 = ANY(ARRAY[abs(1)])"),
        ("integer", "id = 1 AND (NOT true OR NOT true)"),
        ("integer", "id = 1 AND now() > '2026-01-01'"),
        ("text", "id = 'a' AND id LIKE 'a%'"),
    ],
)
def test_conditions_that_cannot_be_evaluated_are_counted(kind: str, where: str) -> None:
    made, reasons = touched(f"UPDATE t SET v = 1 WHERE {where}", None, of_type(kind))
    assert all(keys for _, _, keys in made)
    assert NOT_EVALUATED in reasons


@pytest.mark.parametrize(
    "where",
    [
        *("id = 1 AND v > 3", "id = 1 AND v % 2 = 0", "id = 1 AND (v = 3 OR id = 3)"),
        *("id = 1 AND true", "id = 1 AND v = 3 AND v % 2 = 1", "id = 1 AND v IS NULL"),
    ],
)
def test_conditions_on_other_columns_do_not_matter(where: str) -> None:
    found = touched(f"UPDATE t SET v = 1 WHERE {where}", None, of_type("integer"))
    assert found == ([("update", "t", ["1"])], set())


def test_conditions_of_a_table_without_a_definition() -> None:
    sql = "UPDATE x SET v = 1 WHERE id IN (1, 2, 10) AND id > 2"
    assert touched(sql) == ([("update", "x", ["10"])], {NO_DEFINITION})
    both = "UPDATE x SET v = 1 WHERE id = $1 AND id > $2"
    made, reasons = touched(both, ["'7'", "'8'"])
    assert (made, reasons) == ([("update", "x", ["7"])], {NO_DEFINITION, NOT_EVALUATED})


def test_an_unknown_parameter_is_assumed_to_match() -> None:
    sql = "SELECT * FROM t WHERE id = 5 AND id > $1"
    assert touched(sql, None, of_type("integer")) == ([("read", "t", ["5"])], set())


def test_a_list_of_rows_is_restricted_by_row() -> None:
    catalog = Catalog({"p": TableDefinition(("a", "b"), ("a", "b"), {"a": "int", "b": "int"})})
    sql = "DELETE FROM p WHERE (a, b) IN ((1, 5), (2, 6), (3, 7)) AND a > 1 AND b < 7"
    made, reasons = touched(sql, None, Templates(TableKeys(catalog)))
    assert (made, reasons) == ([("delete", "p", ["2\x1f6"])], set())


@pytest.mark.parametrize(
    ("query", "locked", "read"),
    [
        ("id IN (1,2,3) ORDER BY v LIMIT 1 FOR UPDATE", "", "123"),
        ("id IN (1,2,3) LIMIT 2 FOR UPDATE", "", "123"),
        ("id IN (1,2,3) LIMIT 3 FOR UPDATE", "123", ""),
        ("id IN (1,2,3) AND id > 1 LIMIT 2 FOR UPDATE", "23", ""),
        ("id IN (1,2,3) LIMIT ALL FOR UPDATE", "123", ""),
        ("id IN (1,2,3) LIMIT NULL FOR UPDATE", "123", ""),
        ("id IN (1,2,3) LIMIT $1 FOR UPDATE", "", "123"),
        ("id IN (1,2,3) LIMIT 1 + 1 FOR UPDATE", "", "123"),
        ("id IN (1,2,3) OFFSET 1 FOR UPDATE", "", "123"),
        ("id IN (1,2,3) LIMIT 3 OFFSET 0 FOR UPDATE", "123", ""),
        ("id IN (1,2,3) FETCH FIRST 2 ROWS ONLY FOR UPDATE", "", "123"),
        ("id IN (1,2,3) FETCH FIRST 3 ROWS WITH TIES FOR UPDATE", "", "123"),
        ("id = 1 ORDER BY v LIMIT 1 FOR NO KEY UPDATE", "1", ""),
        ("id IN (1,2,3) LIMIT 0 FOR UPDATE", "", ""),
    ],
)
def test_which_rows_a_limit_locks(query: str, locked: str, read: str) -> None:
    made, reasons = touched(f"SELECT * FROM t WHERE {query}", ["'2'"], of_type("integer"))
    found = {kind: "".join(keys) for kind, _, keys in made}
    assert (found.get("update", ""), found.get("read", "")) == (locked, read)
    assert reasons == ({LOCK_NOT_NAMED} if read else set())


def test_limits_of_a_subquery_apply_to_its_locks() -> None:
    inner = "SELECT * FROM t WHERE id IN (1,2) ORDER BY v LIMIT 1"
    made, reasons = touched(f"SELECT * FROM ({inner}) s FOR UPDATE", None, of_type("integer"))
    assert [one for one in made if one[2]] == [("read", "t", ["1", "2"])]
    assert reasons == {LOCK_NOT_NAMED}
    inner = f"{inner.replace('*', 'id')} FOR UPDATE SKIP LOCKED"
    for sql in (
        f"UPDATE t SET v = 1 WHERE id IN ({inner})",
        f"DELETE FROM t WHERE id = ({inner})",
        f"WITH q AS ({inner}) UPDATE t SET v = 1 FROM q WHERE t.id = q.id",
    ):
        made, reasons = touched(sql, None, of_type("integer"))
        assert ("read", "t", ["1", "2"]) in made
        assert all(kind == "scan" for kind, _, keys in made if keys and kind != "read")
        assert reasons == {LOCK_NOT_NAMED, KEY_NOT_NAMED, SKIPPED_ROWS}


@pytest.mark.parametrize("query", ["SELECT * FROM t LIMIT 0", "SELECT * FROM t LIMIT $1"])
def test_a_limit_of_no_row_reads_none(query: str) -> None:
    assert touched(query, ["'0'"], of_type("integer")) == ([], set())
    (made,), _ = touched("SELECT * FROM t LIMIT 1", None, of_type("integer"))
    assert made == ("scan", "t", [""])


@pytest.mark.parametrize("on", ["false", "1 = 0", "t.id = s.id AND 1 = 0", "t.id = s.id"])
def test_a_merge_inserts_where_no_row_fulfils_its_condition(on: str) -> None:
    sql = (
        f"MERGE INTO t USING (VALUES (1), (2)) s (id) ON {on}"
        " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 0)"
    )
    made, _ = touched(sql, None, of_type("integer"))
    assert ("insert", "t", ["1", "2"]) in made


def test_omissions_and_guesses_are_named_and_rejected(tmp_path: Path) -> None:
    schema = tmp_path / "schema.sql"
    schema.write_text("CREATE TABLE t (id integer PRIMARY KEY, name text);")
    said = {
        "SELECT * FROM t WHERE id = 1 AND id % 2 = 0": NOT_EVALUATED,
        "SELECT * FROM t WHERE name = 'a' AND name > 'b'": NOT_EVALUATED,
        "SELECT * FROM t WHERE id IN (1, 2) ORDER BY name LIMIT 1 FOR UPDATE": LOCK_NOT_NAMED,
    }
    for sql, reason in said.items():
        log = write_log(tmp_path / "log.csv", [(1, sql)])
        left_out = imported(log, schema=schema).left_out
        assert left_out.guessed[reason] + left_out.counts[reason] == 1
        assert left_out.named[reason][0].startswith(f"{log}:1: {reason}: ")
        with pytest.raises(TraceError, match=r"log\.csv:1: .*leave out --strict"):
            imported(log, schema=schema, strict=True)


def test_a_write_of_no_row_is_neither_access_nor_fault(tmp_path: Path) -> None:
    schema = tmp_path / "schema.sql"
    schema.write_text("CREATE TABLE t (id integer PRIMARY KEY, name text);")
    said = ["UPDATE t SET name = 'a' WHERE name = 'b' AND 1 = 0", "DELETE FROM t WHERE id = 1"]
    log = write_log(tmp_path / "log.csv", [(1, sql) for sql in said])
    trace = imported(log, schema=schema, strict=True)
    assert trace.accesses() == [("committed", [("delete", "t", 1)])]
    assert trace.left_out.counts == {NO_ACCESS: 1}


def test_several_numbers_of_a_list_take_the_type_of_a_real_column() -> None:
    kept = numbers_as_text.real("0.1")
    listed = touched("DELETE FROM t WHERE id IN (0.1, 0.5)", None, of_type("real"))
    assert listed == ([("delete", "t", [kept, "0.5"])], {NO_CAST})
    others = "DELETE FROM t WHERE id IN ('0.1', '0.5') AND id NOT IN (0.1, 1.5)"
    assert touched(others, None, of_type("real"))[1] == {NOT_EVALUATED}


DRAWN = {
    "integer": ("1", "2", "3", "10", "-4", "0"),
    "bigint": ("1", "9007199254740993", "-3"),
    "numeric": ("1.5", "2", "10", "-0.25", "2.50"),
    "real": ("0.1", "0.5", "3", "1e10"),
    "double precision": ("0.1", "0.5", "3"),
    "date": ("2026-01-01", "2026-10-05", "0999-01-01"),
    "timestamp": ("2026-01-01 00:00:00", "2026-01-01 09:00:00.5", "2026-01-01 09:00:00.25"),
    "text": ("a", "b", "1", "7.10"),
    "char(3)": ("a", "b"),
    "boolean": ("t", "f"),
}
"""Keys by type."""
COLUMNLESS = ("1 = 0", "1 < 2", "'a' = 'b'", "2.0 = 2", "id IS NOT NULL", "NOT false")


def drawn_constant(random: Random, kind: str) -> str:
    value = random.choice(DRAWN[kind])
    texts = [f"'{value}'", f"'{value}'::{kind}"]
    if kind in ("integer", "bigint", "numeric", "real", "double precision"):
        texts += [value, f"{value}::numeric", f"{value}::float8", f"{value}::real", "1.5", "NULL"]
    elif kind == "date":
        texts += ["'2026-01-01 09:00'::timestamp", "'2026-01-01'::timestamp"]
    return random.choice(texts)


def drawn_condition(random: Random, kind: str, depth: int = 0) -> str:
    operator = random.choice(("=", "<>", "<", "<=", ">", ">="))
    some = [drawn_constant(random, kind) for _ in range(random.randint(1, 3))]
    found = [
        *(f"id {operator} {some[0]}", f"{some[-1]} {operator} id"),
        *(f"id BETWEEN {some[0]} AND {some[-1]}", random.choice(COLUMNLESS)),
        *(f"id IN ({', '.join(some)})", f"id NOT IN ({', '.join(some)})"),
    ]
    if depth < 3:
        inner = [drawn_condition(random, kind, depth + 1) for _ in range(2)]
        found += [f"NOT ({inner[0]})", f"NOT ({' OR '.join(inner)})"]
    return random.choice(found)


def test_random_conditions_match_the_server(postgresql: Server) -> None:
    random = Random(7)
    cases = []
    for _ in range(scaled(300)):
        kind = random.choice(list(DRAWN))
        conditions = [drawn_condition(random, kind) for _ in range(random.randint(1, 3))]
        cases.append((kind, asked(kind, ",".join(DRAWN[kind]), " AND ".join(conditions))))
    queries = [
        f"SELECT count(*) FROM (SELECT unnest('{{{','.join(DRAWN[kind])}}}'::{kind}[]) AS id) t"
        f" WHERE {where};"
        for kind, where in cases
    ]
    with postgresql.running():
        counts = [int(one) for one in postgresql.psql("\n".join(queries)).split()]
    assert len(counts) == len(cases)
    certain = 0
    for (kind, where), count in zip(cases, counts, strict=True):
        made, reasons = touched(f"DELETE FROM t WHERE {where}", None, of_type(kind))
        found = len([key for _, _, keys in made for key in keys])
        assert found == count or (reasons and found > count), (kind, where)
        certain += not reasons
    assert certain > len(cases) / 2
