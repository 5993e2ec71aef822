from __future__ import annotations

from pathlib import Path

import pytest

from traces.errors import TraceError
from traces.importers.base import LeftOut
from traces.importers.postgresql.column_types import form_of, unknown_type
from traces.importers.postgresql.definitions import INEXACT, read_definitions

DUMP = r"""
\restrict abc
-- CREATE TABLE not_this (id int PRIMARY KEY);
SELECT pg_catalog.set_config('search_path', '', false);
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ CREATE TABLE nor_this (id int); SELECT 1; $$;

CREATE TABLE public.item (
    id integer NOT NULL,
    name text DEFAULT 'a;b'::text
);
CREATE TABLE shop."Order" ("Id" bigint, item integer, note character varying(20));

CREATE UNLOGGED TABLE tag (name text PRIMARY KEY, at timestamp(3) with time zone);
CREATE TABLE stock (w int, i int, q int, CONSTRAINT k PRIMARY KEY (i, w));
CREATE TABLE heap (a int);

ALTER TABLE ONLY public.item ADD CONSTRAINT item_pkey PRIMARY KEY (id);
ALTER TABLE ONLY shop."Order"
    ADD CONSTRAINT order_pkey PRIMARY KEY ("Id", item);
ALTER TABLE public.item OWNER TO someone;
"""


def test_tables_of_a_dump(tmp_path: Path) -> None:
    path = tmp_path / "schema.sql"
    path.write_text(DUMP)
    tables = read_definitions(path, LeftOut(strict=True)).tables
    assert {name: (one.columns, one.key) for name, one in tables.items()} == {
        "item": (("id", "name"), ("id",)),
        "shop.Order": (("Id", "item", "note"), ("Id", "item")),
        "tag": (("name", "at"), ("name",)),
        "stock": (("w", "i", "q"), ("i", "w")),
        "heap": (("a",), ()),
    }
    assert tables["tag"].types == {"name": "TEXT", "at": "TIMESTAMPTZ(3)"}
    assert tables["shop.Order"].unique == {
        "order_pkey": ("Id", "item"),
        "Order_pkey": ("Id", "item"),
    }


def test_an_unreadable_definition_is_named(tmp_path: Path) -> None:
    path = tmp_path / "schema.sql"
    path.write_text("CREATE TABLE good (id int PRIMARY KEY);\n\nCREATE TABLE bad (id int;\n")
    left_out = LeftOut()
    assert set(read_definitions(path, left_out).tables) == {"good"}
    assert left_out.named == {
        "table definition that can't be read": ["schema.sql:3: CREATE TABLE bad (id int"]
    }
    with pytest.raises(TraceError, match=r"schema\.sql:3: CREATE TABLE bad"):
        read_definitions(path, LeftOut(strict=True))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"SELECT 1;", "defines no table; create it with pg_dump --schema-only"),
        (b"", "defines no table"),
        (b"\xff\xfa", "is not UTF-8 text"),
        (None, "can't be read: No such file"),
    ],
)
def test_no_definitions(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "schema.sql"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        read_definitions(path, LeftOut())


def test_types_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "schema.sql"
    path.write_text("""
CREATE COLLATION public.any_case (provider = icu, deterministic = false, locale = 'und');
CREATE DOMAIN public.email AS public.citext
    CONSTRAINT email_check CHECK ((VALUE ~ '@'::public.citext));
CREATE DOMAIN shop."Code" character(8) DEFAULT 'x'::bpchar NOT NULL;

CREATE TYPE shop.mood AS ENUM ('good', 'bad');

CREATE TABLE t (
    a public.email, b shop."Code", c shop.mood, d text COLLATE public.any_case, e bit varying(3),
    f text COLLATE pg_catalog."C", "Ä" integer, Ö integer, PRIMARY KEY (a, Ö)
);
""")
    catalog = read_definitions(path, LeftOut(strict=True))
    table = catalog.tables["t"]
    assert table.key == ("a", "Ö")
    assert table.types["d"] == INEXACT
    values = {"a": "Ann@X", "b": "ab  ", "c": "good", "f": "F ", "Ä": "007", "Ö": "008"}
    made = {"a": "ann@x", "b": "ab", "c": "good", "f": "F ", "Ä": "7", "Ö": "8"}
    for column, value in values.items():
        form = form_of(table.types[column], catalog.types, stored=False)
        assert (form(value) if form is not None else value) == made[column]
    for column in ("d", "e"):
        assert form_of(table.types[column], catalog.types, stored=False) is unknown_type
