"""Casts of constants and columns have the results of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.importers.postgresql.server import Server
from tests.traces.importers.postgresql.statements import touched
from traces.importers import numbers_as_text
from traces.importers.base import LeftOut
from traces.importers.postgresql.accesses import KEY_NOT_NAMED, NO_CAST, NO_ZONE
from traces.importers.postgresql.catalog import Catalog, TableDefinition
from traces.importers.postgresql.definitions import read_definitions
from traces.importers.postgresql.entries import statement_of
from traces.importers.postgresql.literals import quoted
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.templates import Templates

WORKED_OUT = [
    ("integer", "7.6::int", "8"),
    ("integer", "-7.5::int", "-8"),
    ("integer", "'007'::int", "7"),
    ("integer", "6.5::float8::int", "6"),
    ("integer", "CAST(7.4 AS bigint)", "7"),
    ("integer", "x'10'::int", "16"),
    ("bigint", "X'ff'::bigint", "255"),
    ("integer", "B'101'::int", "5"),
    ("integer", "true::int", "1"),
    ("integer", "'7'::text::int", "7"),
    ("integer", "7::numeric(10, 2)", "7"),
    ("integer", "7::float8", "7"),
    ("numeric", "7.25::numeric(10,1)", "7.3"),
    ("numeric(10,2)", "7.255::numeric(10, 2)", "7.26"),
    ("numeric", "7.6::numeric(4)", "8"),
    ("numeric", "0.1::float8::numeric", "0.1"),
    ("double precision", "0.10::numeric", "0.1"),
    ("double precision", "'1e-1'::float8", "0.1"),
    ("real", "0.1::real", "0.10000000149011612"),
    ("text", "'007'::int::text", "7"),
    ("text", "7.10::text", "7.10"),
    ("text", "007::text", "7"),
    ("text", ".5::text", "0.5"),
    ("text", "1.0e2::text", "100"),
    ("text", "7.25::numeric(10,1)::text", "7.3"),
    ("text", "7::numeric(10,2)::text", "7.00"),
    ("text", "'t'::bool::text", "true"),
    ("text", "'ab '::char(3)::text", "ab"),
    ("text", "N'ab '", "ab"),
    (
        "text",
        "'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid::text",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    ("varchar(20)", "'abcdef'::varchar(3)", "abc"),
    ("varchar(20)", "'abcdef'::character varying", "abcdef"),
    ("char(3)", "'abc'::char(2)", "ab"),
    ("char(3)", "'abc'::char", "a"),
    ("boolean", "'yes'::bool", "true"),
    ("boolean", "7::bool", "true"),
    ("date", "'2026-11-26 09:00'::date", "2026-11-26"),
    ("date", "date '2026-11-26'", "2026-11-26"),
    ("date", "'2026-11-26'::timestamp", "2026-11-26"),
    ("timestamp", "'2026-11-26 09:00'::date", "2026-11-26 00:00:00"),
    ("timestamp", "'2026-11-26 09:00:00.6'::timestamp(0)", "2026-11-26 09:00:01"),
    ("timestamp", "'2026-11-26 10:00+01'::timestamp", "2026-11-26 10:00:00"),
    ("timestamptz", "'2026-11-26 10:00+01'::timestamptz", "2026-11-26 09:00:00"),
    (
        "timestamptz",
        "'2026-11-26 10:00:00.6+01'::timestamptz::timestamptz(0)",
        "2026-11-26 09:00:01",
    ),
    ("time", "'2026-11-26 09:00'::timestamp::time", "09:00:00"),
    (
        "uuid",
        "'{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'::uuid",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    (
        "uuid",
        "'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::text::uuid",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    ("bytea", r"'\x0A'::bytea", r"\x0a"),
    ("inet", "'10.0.0.1/32'::inet", "10.0.0.1"),
    ("macaddr8", "'08002b010203'::macaddr8", "08:00:2b:ff:fe:01:02:03"),
]
"""The type of a key, a constant that it is compared with, and the key."""

NOT_WORKED_OUT = [
    ("timestamptz", "'2026-11-26 10:00+01'::timestamp", NO_ZONE),
    ("timestamptz", "'2026-11-26'::date", NO_ZONE),
    ("timestamptz", "'2026-11-26 10:00'::timestamptz", NO_ZONE),
    ("timestamp", "'2026-11-26 10:00+01'::timestamptz", NO_CAST),
    ("date", "'2026-11-26 10:00+01'::timestamptz::date", NO_CAST),
    ("text", "'2026-11-26'::date::text", NO_CAST),
    ("text", "0.1::float8::text", NO_CAST),
    ("integer", "x'ffffffff'::int", NO_CAST),
    ("integer", "'acct'::regclass::oid", NO_CAST),
    ("integer", "'7.6'::int", NO_CAST),
    ("numeric", "0.1::float8", NO_CAST),
    ("bigint", "9007199254740993::float8", NO_CAST),
    ("citext", "'A'::text", NO_CAST),
    ("interval", "'1 day'::interval", NO_CAST),
]
"""The type of a key, a constant that it is compared with, and the reason of the guess."""


def of_type(kind: str) -> Templates:
    definition = TableDefinition(("id", "v"), ("id",), {"id": kind, "v": "integer"})
    catalog = Catalog({"t": definition}, types={"mood": "enum", "small": "smallint"})
    return Templates(TableKeys(catalog))


@pytest.mark.parametrize(("kind", "constant", "key"), WORKED_OUT)
def test_casts_of_constants(kind: str, constant: str, key: str) -> None:
    sql = f"UPDATE t SET v = 1 WHERE id = {constant}"
    assert touched(sql, None, of_type(kind)) == ([("update", "t", [key])], set())


def test_casts_match_the_server(postgresql: Server) -> None:
    asked = [
        f"SELECT CAST({quoted(key)} AS {kind}) = {constant};" for kind, constant, key in WORKED_OUT
    ]
    with postgresql.running():
        answers = postgresql.psql("SET TIME ZONE 'UTC';\n" + "\n".join(asked)).split()
    assert [ask for ask, is_ in zip(asked, answers, strict=True) if is_ != "t"] == []


NO_ROW = [
    ("real", "0.1", "'0.1'"),
    ("real", "0.1::float8", "'0.1'"),
    ("real", "1e99", "'1e38'"),
    ("integer", "7.6", "8"),
    ("bigint", "7.5::float8", "8"),
    ("date", "'2026-11-26 09:00'::timestamp", "'2026-11-26'"),
    ("char(3)", "'a '::text", "'a'"),
]
"""The type of a key, a constant that no value equals, and one that looks like it."""

STORED = [
    ("text", "7.10", "7.10"),
    ("text", "007", "7"),
    ("text", "7.0", "7.0"),
    ("text", "1e3", "1000"),
    ("text", "-0.50", "-0.50"),
    ("varchar(9)", "7.10", "7.10"),
    ("char(9)", "7.10", "7.10"),
    ("name", "7.10", "7.10"),
    ("text", "'7.10'", "7.10"),
    ("numeric", "7.10", "7.1"),
    ("numeric(9,1)", "7.16", "7.2"),
    ("integer", "7.6", "8"),
    ("real", "0.1", numbers_as_text.real("0.1")),
]
"""The type of a key, a constant that is inserted, and the key."""


@pytest.mark.parametrize(("kind", "constant", "like"), NO_ROW)
def test_constants_that_equal_no_row(kind: str, constant: str, like: str) -> None:
    sql = f"UPDATE t SET v = 1 WHERE id = {constant}"
    assert touched(sql, None, of_type(kind)) == ([("update", "t", [])], set())
    sql = f"UPDATE t SET v = 1 WHERE id = {like}"
    ((_, _, keys),), reasons = touched(sql, None, of_type(kind))
    assert (len(keys), reasons) == (1, set())
    # In a range they are bounds.
    made, reasons = touched(f"SELECT * FROM t WHERE id >= {constant}", None, of_type(kind))
    assert (len(made), reasons) == (1, set())


@pytest.mark.parametrize(("kind", "constant", "key"), STORED)
def test_constants_that_are_inserted(kind: str, constant: str, key: str) -> None:
    for sql in (
        f"INSERT INTO t VALUES ({constant}, 1)",
        f"INSERT INTO t VALUES ({constant}, 1), ({constant}, 2)",
    ):
        ((_, _, keys),), reasons = touched(sql, None, of_type(kind))
        assert (set(keys), reasons) == ({key}, set())


def test_found_and_stored_values_match_the_server(postgresql: Server) -> None:
    asked = [f"SELECT CAST({like} AS {kind}) = {constant};" for kind, constant, like in NO_ROW]
    asked += [
        f"CREATE TEMP TABLE t{n} (id {kind}); INSERT INTO t{n} VALUES ({constant});"
        f"SELECT id = {quoted(key)} FROM t{n};"
        for n, (kind, constant, key) in enumerate(STORED)
    ]
    with postgresql.running():
        answers = postgresql.psql("\n".join(asked)).split()
    assert answers == ["f"] * len(NO_ROW) + ["t"] * len(STORED)


def test_parameters_of_a_log_may_be_of_either_type() -> None:
    sql, kept = "DELETE FROM t WHERE id = $1", numbers_as_text.real("0.1")
    assert touched(sql, ["'0.1'"], of_type("real")) == ([("delete", "t", [kept])], {NO_CAST})
    assert touched(sql, ["'0.5'"], of_type("real")) == ([("delete", "t", ["0.5"])], set())
    inserted = touched("INSERT INTO t VALUES ($1, 1)", ["'0.1'"], of_type("real"))
    assert inserted == ([("insert", "t", [kept])], set())


def test_parameters_of_execute_are_not_text() -> None:
    for kind, keys in (("float8", []), ("numeric", []), ("real", [numbers_as_text.real("0.1")])):
        statement = statement_of(
            "statement: EXECUTE p(0.1)", f"prepare: PREPARE p ({kind}) AS DELETE FROM t WHERE id=$1"
        )
        assert statement is not None
        made, reasons = touched(statement.sql, statement.parameters, of_type("real"))
        assert (made, reasons) == ([("delete", "t", keys)], set())


@pytest.mark.parametrize(("kind", "constant", "reason"), NOT_WORKED_OUT)
def test_casts_that_are_guessed(kind: str, constant: str, reason: str) -> None:
    _, reasons = touched(f"UPDATE t SET v = 1 WHERE id = {constant}", None, of_type(kind))
    assert reasons == {reason}


@pytest.mark.parametrize(
    ("kind", "condition", "keys"),
    [
        ("integer", "id = ANY('{007,NULL,8}'::int[])", ["7", "8"]),
        ("integer", "id = ANY('{7.6}'::numeric[]::int[])", ["8"]),
        ("integer", "id = ANY(ARRAY[7.6, 3]::int[])", ["8", "3"]),
        ("integer", "id = ANY('{7}'::_int4)", ["7"]),
        ("integer", "id = ANY('{7}'::text::int[])", ["7"]),
        ("integer", "id = ANY('{7}'::int array)", ["7"]),
        ("integer", "id IN (x'10'::int, x'20'::int)", ["16", "32"]),
        ("integer", "id IN (SELECT unnest('{7.6,3}'::numeric[])::int)", ["8", "3"]),
        ("text", "id = ANY('{abc,de}'::varchar(2)[])", ["ab", "de"]),
        ("text", "id = ANY('[0:1]={a,b}'::text[])", ["a", "b"]),
        ("text", r"""id = ANY('{{a\,b,c},{"d e",NULL}}')""", ["a,b", "c", "d e"]),
        ("text", "id = '[0:1]={a,b}'", ["[0:1]={a,b}"]),
        ("mood", "id = 'glad'::mood", ["glad"]),
        ("small", "id = 7.6::small", ["8"]),
    ],
)
def test_casts_of_arrays_and_of_named_types(kind: str, condition: str, keys: list[str]) -> None:
    sql = f"UPDATE t SET v = 1 WHERE {condition}"
    assert touched(sql, None, of_type(kind)) == ([("update", "t", keys)], set())


@pytest.mark.parametrize(
    ("kind", "value", "constant", "key"),
    [
        ("integer", "'7'", "$1::int", "7"),
        ("text", "'7.10'", "$1::text", "7.10"),
        ("text", "'7.10'", "$1::text::numeric(10,1)::text", "7.1"),
        (
            "uuid",
            "'A0EEBC999C0B4EF8BB6D6BB9BD380A11'",
            "$1::uuid",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
    ],
)
def test_casts_of_parameters(kind: str, value: str, constant: str, key: str) -> None:
    sql = f"SELECT * FROM t WHERE id = {constant}"
    assert touched(sql, [value], of_type(kind)) == ([("read", "t", [key])], set())


def test_stored_values_are_cast_to_the_column_type() -> None:
    for kind, constant, key in (
        ("integer", "7.6::numeric", "8"),
        ("text", "7.10::numeric", "7.10"),
    ):
        sql = f"INSERT INTO t VALUES ({constant}, 1)"
        assert touched(sql, None, of_type(kind)) == ([("insert", "t", [key])], set())


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("timestamp", "id::date = '2026-11-26'"),
        ("timestamp", "id::date IN ('2026-11-26', '2026-11-27')"),
        ("timestamp", "id::date = DATE '2026-11-26'"),
        ("timestamp", "CAST(id AS date) = ANY('{2026-11-26}')"),
        ("timestamp", "id::timestamp(0) = '2026-11-26'"),
        ("varchar(9)", "id::varchar(2) = 'ab'"),
        ("varchar(9)", "id::char(2) = 'ab'"),
        ("varchar(9)", "id::char = 'a'"),
        ("integer", "id::text = '007'"),
        ("numeric", "id::int = 7"),
        ("uuid", "id::text = 'a0eebc99'"),
        ("citext", "id::text = 'a'"),
        ("inet", "id::cidr = '10.0.0.0/8'"),
        ("integer", "(id::text, v) IN (('7', 1), ('8', 2))"),
    ],
)
def test_a_cast_of_a_column_may_equate_rows(kind: str, condition: str) -> None:
    made, reasons = touched(f"DELETE FROM t WHERE {condition}", None, of_type(kind))
    assert (made, reasons) == ([("scan", "t", [""])], {KEY_NOT_NAMED})


@pytest.mark.parametrize(
    ("kind", "condition", "key"),
    [
        ("integer", "id::bigint = 7", "7"),
        ("integer", "id::numeric = 7.0", "7"),
        ("varchar(9)", "id::text = 'ab'", "ab"),
        ("mood", "id::text = 'glad'", "glad"),
        ("timestamp", "id::timestamp = '2026-11-26'", "2026-11-26 00:00:00"),
    ],
)
def test_a_cast_of_a_column_that_keeps_its_values(kind: str, condition: str, key: str) -> None:
    sql = f"DELETE FROM t WHERE {condition}"
    assert touched(sql, None, of_type(kind)) == ([("delete", "t", [key])], set())


@pytest.mark.parametrize(
    "source", ["(VALUES ('007'), ('8')) AS x(id)", "unnest('{007,8}'::text[]) AS x(id)"]
)
def test_a_cast_of_a_derived_column(source: str) -> None:
    sql = f"UPDATE t SET v = 1 FROM {source} WHERE t.id = x.id::int"
    assert touched(sql, None, of_type("integer")) == ([("update", "t", ["7", "8"])], set())


@pytest.mark.parametrize(
    ("types", "arguments", "values"),
    [
        ("(int, text)", "7.6, 7.10", ["'8'", "'7.10'"]),
        ("(int, numeric(10,1))", "-'7', 7.25", ["'-7'", "7.25"]),
        ("(varchar(2), date)", "'abc', '2026-11-26 09:00'", ["'abc'", "'2026-11-26'"]),
        ("(mood, int[])", "'glad', '{7}'", ["'glad'", "'{7}'"]),
        ("", "7.6, 'a'", ["7.6", "'a'"]),
    ],
)
def test_arguments_of_execute_are_of_the_types_of_prepare(
    types: str, arguments: str, values: list[str]
) -> None:
    message = f"statement: EXECUTE p({arguments})"
    found = statement_of(message, f"prepare: PREPARE p {types} AS SELECT $1, $2")
    assert found is not None
    assert (found.sql, found.parameters) == ("SELECT $1, $2", values)


def test_casts_in_the_definition_of_a_view(tmp_path: Path) -> None:
    schema = tmp_path / "schema.sql"
    schema.write_text(
        "CREATE TABLE t (id int PRIMARY KEY, name varchar(9));"
        "CREATE VIEW one AS SELECT t.id FROM t WHERE (t.id = (7.6)::integer);"
        "CREATE VIEW two AS SELECT t.id FROM t WHERE (t.id = ANY ('{1,2}'::integer[]));"
    )
    for view, keys in (("one", ["8"]), ("two", ["1", "2"])):
        templates = Templates(TableKeys(read_definitions(schema, LeftOut(strict=True))))
        assert touched(f"TABLE {view}", None, templates) == ([("read", "t", keys)], set())
