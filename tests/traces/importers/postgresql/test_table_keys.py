from __future__ import annotations

from pathlib import Path

import pytest

from traces.errors import TraceError
from traces.importers.base import LeftOut
from traces.importers.postgresql.table_keys import TableDefinition, TableKeys, read_definitions

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
    assert read_definitions(path, LeftOut(strict=True)) == {
        "item": TableDefinition(("id", "name"), ("id",)),
        "shop.Order": TableDefinition(("Id", "item", "note"), ("Id", "item")),
        "tag": TableDefinition(("name", "at"), ("name",)),
        "stock": TableDefinition(("w", "i", "q"), ("i", "w")),
        "heap": TableDefinition(("a",), ()),
    }


def test_a_definition_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "schema.sql"
    path.write_text("CREATE TABLE good (id int PRIMARY KEY);\n\nCREATE TABLE bad (id int;\n")
    left_out = LeftOut()
    assert set(read_definitions(path, left_out)) == {"good"}
    assert left_out.named == {
        "table definition that can't be read": ["schema.sql:3: CREATE TABLE bad (id int"]
    }
    with pytest.raises(TraceError, match=r"schema\.sql:3: CREATE TABLE bad"):
        read_definitions(path, LeftOut(strict=True))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"SELECT 1;", "defines no table; write it with pg_dump --schema-only"),
        (b"", "defines no table"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (None, "can't be read: No such file"),
    ],
)
def test_no_definitions(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "schema.sql"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        read_definitions(path, LeftOut())


def test_keys_of_tables_without_definition_are_what_is_asked_by_first() -> None:
    keys = TableKeys()
    assert keys.asked_by("t") is None
    assert keys.asked("t", {"b", "a"}) == ("a", "b")
    assert keys.asked("t", {"a", "b", "version"}) == ("a", "b")
    assert keys.asked("t", {"a"}) == ("a",)
