"""Names of tables resolve as in the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.importers.postgresql.imported import Access, Imported, imported
from tests.traces.importers.postgresql.logs import Said, write_log
from traces.errors import TraceError
from traces.importers.base import LeftOut
from traces.importers.postgresql.accesses import (
    CASCADE,
    FUNCTION,
    KEY_FOLLOWED,
    KEY_NOT_NAMED,
    NO_DEFINITION,
    OF_SEVERAL,
    OFF_THE_PATH,
    RULE,
    TRIGGER,
    VIEW_WRITTEN,
)
from traces.importers.postgresql.catalog import Catalog
from traces.importers.postgresql.definitions import read_definitions
from traces.importers.postgresql.log import NO_ACCESS, SECOND_DATABASE
from traces.importers.postgresql.search_path import SearchPaths, listed
from traces.importers.postgresql.temporary_tables import TEMPORARY

SCHEMA = """
CREATE TABLE public.item (id integer NOT NULL, name text);
ALTER TABLE ONLY public.item ADD CONSTRAINT item_pkey PRIMARY KEY (id);
CREATE TABLE one.orders (id bigint PRIMARY KEY, item integer);

CREATE TABLE two.orders (id bigint PRIMARY KEY, item integer);
CREATE TABLE two.parcel (id bigint PRIMARY KEY);
CREATE TABLE app.note (id bigint PRIMARY KEY);

CREATE TABLE public.event (id bigint NOT NULL, day date NOT NULL) PARTITION BY RANGE (day);
CREATE TABLE public.event_2026 (id bigint NOT NULL, day date NOT NULL);

CREATE TABLE public.event_2027 PARTITION OF public.event
    FOR VALUES FROM ('2027-01-01') TO ('2028-01-01') PARTITION BY RANGE (day);
CREATE TABLE public.event_2027_01 PARTITION OF public.event_2027 DEFAULT;

ALTER TABLE ONLY public.event ATTACH PARTITION public.event_2026
    FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
ALTER TABLE ONLY public.event ADD CONSTRAINT event_pkey PRIMARY KEY (id, day);
CREATE TABLE public.reading (id bigint, at timestamptz);

CREATE TABLE public.reading_2026 (CHECK (at < '2027-01-01')) INHERITS (public.reading);
ALTER TABLE ONLY public.reading_2026 ADD CONSTRAINT reading_pkey PRIMARY KEY (id);
CREATE VIEW public.cheap AS SELECT item.id AS number, item.name FROM public.item
    WHERE (item.name <> 'x'::text);

CREATE VIEW public.cheapest (n) WITH (security_barrier='true') AS
    SELECT cheap.number FROM public.cheap;
CREATE VIEW public.seventh AS SELECT item.name FROM public.item WHERE (item.id = 7);

CREATE VIEW public.sold AS SELECT i.id, o.id AS orders FROM public.item i
    JOIN one.orders o ON ((o.item = i.id));
CREATE MATERIALIZED VIEW public.totals AS SELECT 1 AS n WITH NO DATA;
"""


def read(tmp_path: Path, *said: Said | str, schema: str = SCHEMA, **options: object) -> Imported:
    script = tmp_path / "schema.sql"
    script.write_text(schema)
    told = [(1, one) if isinstance(one, str) else one for one in said]
    log = write_log(tmp_path / "log.csv", told)
    return imported(log, schema=script, **options)


def touched(trace: Imported) -> list[Access]:
    return [one for _, made in trace.accesses() for one in made]


@pytest.mark.parametrize(
    ("setting", "tables"),
    [
        ([], ["two.orders", "item"]),
        (["SET search_path TO one, public"], ["one.orders", "item"]),
        (["SET search_path = 'two', 'public'"], ["two.orders", "item"]),
        (['SET SESSION search_path = "one", public'], ["one.orders", "item"]),
        (["SET SCHEMA 'one'"], ["one.orders", "item"]),
        (["SELECT set_config('search_path', 'one, public', false)"], ["one.orders", "item"]),
        (["SELECT pg_catalog.set_config('search_path', 'one', true)"], ["two.orders", "item"]),
        (["SELECT set_config('work_mem', '1MB', false)"], ["two.orders", "item"]),
        (["SET LOCAL search_path TO one"], ["two.orders", "item"]),
        (["SET search_path TO '', pg_temp, one"], ["one.orders", "item"]),
        (["SELECT set_config('search_path', '\"$user\", one', false)"], ["one.orders", "item"]),
        (["SET search_path TO one", "SET search_path TO DEFAULT"], ["two.orders", "item"]),
        (["SET search_path TO one", "RESET search_path"], ["two.orders", "item"]),
        (["SET search_path TO one", "DISCARD ALL"], ["two.orders", "item"]),
        (["BEGIN", "SET search_path TO one", "COMMIT"], ["one.orders", "item"]),
        (["BEGIN", "SET search_path TO one", "ROLLBACK"], ["two.orders", "item"]),
        (["BEGIN", "SET LOCAL search_path TO one", "COMMIT"], ["two.orders", "item"]),
    ],
)
def test_search_paths(tmp_path: Path, setting: list[str], tables: list[str]) -> None:
    statements = [*setting, "UPDATE orders SET item = 1 WHERE id = 5", "SELECT 1 FROM item"]
    trace = read(tmp_path, *statements, search_path=("two, public",))
    assert [table for _, table, _ in touched(trace)] == tables
    assert NO_DEFINITION not in trace.left_out.guessed
    assert OF_SEVERAL not in trace.left_out.guessed


def test_a_search_path_applies_to_its_session(tmp_path: Path) -> None:
    update = "UPDATE orders SET item = 1 WHERE id = 5"
    trace = read(
        tmp_path,
        (1, "SET search_path TO one"),
        (2, "SET search_path TO two"),
        (1, update),
        (2, update),
        (1, f"SET search_path TO two; {update}; SET search_path TO one; {update}"),
        (2, "BEGIN"),
        (2, "SET LOCAL search_path TO one"),
        (2, update),
        (2, "COMMIT"),
        (2, update),
    )
    tables = [table for _, table, _ in touched(trace)]
    assert tables == [f"{one}.orders" for one in ("one", "two", "two", "one", "one", "two")]
    assert len({one.name for one in trace.types}) == len(trace.types)
    assert not trace.left_out.guessed


def test_a_statement_independent_of_the_path_is_one_template(tmp_path: Path) -> None:
    update = "UPDATE public.item SET name = 'a' WHERE id = 5"
    trace = read(tmp_path, update, "SET search_path TO one", update, "SELECT 1 FROM public.item")
    assert [len(one.accesses) for one in trace.types] == [1, 1]


def test_a_path_of_a_role(tmp_path: Path) -> None:
    options = ("two", "app=one", "other=public")
    trace = read(tmp_path, "UPDATE orders SET item = 1 WHERE id = 5", search_path=options)
    assert [table for _, table, _ in touched(trace)] == ["one.orders"]
    # The schema with the role's name, if there is one.
    trace = read(tmp_path, "SELECT 1 FROM note")
    assert [table for _, table, _ in touched(trace)] == ["app.note"]
    assert not trace.left_out.guessed


@pytest.mark.parametrize(
    ("sql", "table", "reason"),
    [
        ("SELECT 1 FROM parcel WHERE id = 1", "two.parcel", OFF_THE_PATH),
        ("SELECT 1 FROM orders WHERE id = 1", "one.orders", OF_SEVERAL),
        ("SELECT 1 FROM nowhere WHERE id = 1", "app.nowhere", NO_DEFINITION),
    ],
)
def test_tables_off_the_path(tmp_path: Path, sql: str, table: str, reason: str) -> None:
    trace = read(tmp_path, sql)
    assert touched(trace) == [("read", table, 1)]
    assert trace.left_out.guessed == {reason: 1}


@pytest.mark.parametrize("given", ["", "app=", "=app", " , "])
def test_invalid_paths(given: str) -> None:
    with pytest.raises(TraceError, match=r"must be schemas such as 'app, public'"):
        SearchPaths([given], Catalog())


def test_names_of_a_path_are_quoted_as_in_sql() -> None:
    assert listed('App, "My, ""own""" ,public') == ("app", 'My, "own"', "public")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 FROM event WHERE id = 5 AND day = '2026-11-26'", "event"),
        ("SELECT 1 FROM event_2026 WHERE id = 5 AND day = '20261126'", "event"),
        ("SELECT 1 FROM event_2027_01 WHERE id = 5 AND day = '2027-01-01'", "event"),
        ("SELECT 1 FROM reading WHERE id = 5", "reading"),
        ("SELECT 1 FROM ONLY reading_2026 WHERE id = 5", "reading"),
    ],
)
def test_the_root_is_the_table(tmp_path: Path, sql: str, expected: str) -> None:
    (access,) = touched(read(tmp_path, sql))
    assert access[:2] == ("read", expected)


def test_a_row_of_a_partition_belongs_to_the_root(tmp_path: Path) -> None:
    where = "WHERE id = 5 AND day = '2026-11-26'"
    (one, other) = touched(
        read(tmp_path, *(f"DELETE FROM {t} {where}" for t in ("event", "event_2026")))
    )
    assert one == other


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM cheap WHERE number = 5", ("read", "item", 5)),
        ("SELECT * FROM cheap c WHERE c.number = 5 FOR UPDATE", ("update", "item", 5)),
        ("UPDATE cheap SET name = 'a' WHERE number = 5", ("update", "item", 5)),
        ("DELETE FROM cheapest WHERE n = 5", ("delete", "item", 5)),
        ("UPDATE seventh SET name = 'a'", ("update", "item", 7)),
        ("INSERT INTO cheap (name, number) VALUES ('a', 5)", ("insert", "item", 5)),
        ("INSERT INTO cheapest VALUES (5)", ("insert", "item", 5)),
        (
            "INSERT INTO cheap VALUES (5, 'a') ON CONFLICT (number) DO UPDATE SET name = 'b'",
            ("update", "item", 5),
        ),
    ],
)
def test_views_of_one_table(tmp_path: Path, sql: str, expected: Access) -> None:
    trace = read(tmp_path, sql)
    assert touched(trace) == [expected]
    assert not trace.left_out.counts
    assert not trace.left_out.guessed


def test_setting_a_key_through_a_view(tmp_path: Path) -> None:
    trace = read(tmp_path, "UPDATE cheap SET number = 5 WHERE number = 3")
    assert touched(trace) == [("update", "item", 3), ("update", "item", 5)]
    assert not trace.left_out.counts
    upsert = "INSERT INTO cheap VALUES (7, 'a') ON CONFLICT (number) DO UPDATE SET number ="
    assert read(tmp_path, f"{upsert} 8").left_out.counts == {KEY_NOT_NAMED: 1}
    assert not read(tmp_path, f"{upsert} excluded.number").left_out.counts


def test_views_of_several_tables(tmp_path: Path) -> None:
    trace = read(tmp_path, "SELECT * FROM sold WHERE id = 5 AND orders = 6")
    assert touched(trace) == [("read", "item", 5), ("read", "one.orders", 6)]
    trace = read(tmp_path, "DELETE FROM sold WHERE id = 5", "SELECT 1 FROM sold WHERE id = 5")
    assert trace.left_out.counts == {VIEW_WRITTEN: 1}


def test_dots_and_quotes_in_names(tmp_path: Path) -> None:
    names = ('"a.b"', "a.b", 'public."a.b"', '"my ""own"""')
    schema = "".join(f"CREATE TABLE {name} (id integer PRIMARY KEY);\n" for name in names)
    deletes = [f"DELETE FROM {name} WHERE id = 1" for name in names]
    trace = read(tmp_path, *deletes, schema=schema)
    tables = ['"a.b"', "a.b", '"a.b"', '"my ""own"""']
    assert touched(trace) == [("delete", table, 1) for table in tables]
    assert not trace.left_out.guessed
    temporary = ['CREATE TEMP TABLE "my ""own""" (id int)', deletes[-1]]
    assert touched(read(tmp_path, *temporary, schema=schema)) == []


def test_temporary_tables_belong_to_their_session(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        (1, "CREATE TEMP TABLE item (id int)"),
        (1, "INSERT INTO item VALUES (5)"),
        (2, "INSERT INTO item VALUES (6)"),
        (1, "SELECT name FROM item JOIN one.orders o ON o.id = 7"),
        (1, "DROP TABLE item"),
        (1, "INSERT INTO item VALUES (8)"),
        (2, "SELECT 1 AS id INTO TEMPORARY item"),
        (2, "SELECT 1 FROM item"),
        (2, "DISCARD TEMP"),
        (2, "DELETE FROM item WHERE id = 9"),
    )
    assert touched(trace) == [
        ("insert", "item", 6),
        ("read", "one.orders", 7),
        ("insert", "item", 8),
        ("delete", "item", 9),
    ]
    assert trace.left_out.counts[TEMPORARY] == 2


def test_tables_of_two_databases_are_not_distinguished(tmp_path: Path) -> None:
    logs = [
        write_log(tmp_path / f"{name}.csv", [(number, "SELECT 1")], database=name)
        for number, name in enumerate(("bench", "other"), 1)
    ]
    assert imported(*logs).left_out.guessed == {SECOND_DATABASE: 1}


FOLLOWED = """
CREATE TABLE item (id integer PRIMARY KEY, name text, seen timestamptz);
CREATE TABLE part (id integer PRIMARY KEY, item integer);

CREATE FUNCTION public.log_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO part VALUES (NEW.id, NEW.id); RETURN NEW; END $$;
CREATE FUNCTION public.stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.seen := now(); RETURN NEW; END $$;

CREATE FUNCTION app.price(integer) RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION app.double(integer) RETURNS integer LANGUAGE sql AS 'return $1 * 2';

CREATE FUNCTION app.outer(integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN RETURN app.through($1); END $$;
CREATE FUNCTION app.through(integer) RETURNS integer LANGUAGE sql AS 'return "price" ($1)';

CREATE FUNCTION app.compress(integer) RETURNS integer LANGUAGE sql AS 'update part set item = $1';
CREATE FUNCTION app.set_seen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.item := app.price(NEW.id); RETURN NEW; END $$;

CREATE TABLE seen (id integer PRIMARY KEY, item integer);
CREATE TRIGGER c BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION app.set_seen();
CREATE VIEW priced AS SELECT id, app.outer(id) AS price FROM part;

CREATE VIEW shown AS SELECT id, item FROM part;
CREATE TRIGGER d INSTEAD OF INSERT OR UPDATE OF item ON public.shown
    FOR EACH ROW EXECUTE FUNCTION log_item();

CREATE VIEW kept AS SELECT id, item FROM part;
CREATE TRIGGER e INSTEAD OF DELETE ON kept FOR EACH ROW EXECUTE FUNCTION stamp();

CREATE TABLE code (id integer PRIMARY KEY, name text UNIQUE, note text);
CREATE TABLE coded (id integer PRIMARY KEY, code text REFERENCES code (name) ON UPDATE SET NULL);

CREATE TRIGGER a AFTER UPDATE ON public.item FOR EACH ROW EXECUTE FUNCTION public.log_item();
CREATE TRIGGER b BEFORE INSERT ON part FOR EACH ROW EXECUTE PROCEDURE stamp();

ALTER TABLE ONLY part ADD CONSTRAINT part_item_fkey FOREIGN KEY (item) REFERENCES item(id)
    ON UPDATE CASCADE ON DELETE CASCADE;
"""


@pytest.mark.parametrize(
    ("sql", "reasons"),
    [
        ("UPDATE item SET name = 'a' WHERE id = 1", {TRIGGER}),
        ("SELECT * FROM item WHERE id = 1", set()),
        ("SELECT * FROM item WHERE id = 1 FOR UPDATE", set()),
        ("INSERT INTO part VALUES (1, 1)", set()),
        ("DELETE FROM item WHERE id = 1", {TRIGGER, CASCADE}),
        ("DELETE FROM part WHERE id = 1", set()),
        ("SELECT app.price(id) FROM item WHERE id = 1", {FUNCTION}),
        ("SELECT app.double(id) FROM item WHERE id = 1", set()),
        ("UPDATE part SET item = app.price(1) WHERE id = 1", {FUNCTION}),
        ("INSERT INTO part SELECT * FROM part", {KEY_NOT_NAMED}),
        ("SELECT app.outer(id) FROM part WHERE id = 1", {FUNCTION}),
        ("SELECT app.through(1)", {FUNCTION}),
        ("SELECT app.compress(id) FROM part WHERE id = 1", {FUNCTION}),
        ("SELECT * FROM priced WHERE id = 1", {FUNCTION}),
        ("SELECT last(id), compress FROM shown WHERE id = 1", set()),
        ("INSERT INTO seen VALUES (1, 1)", {TRIGGER}),
        ("UPDATE item SET id = 2 WHERE id = 1", {TRIGGER, KEY_FOLLOWED}),
        ("INSERT INTO item VALUES (1) ON CONFLICT (id) DO UPDATE SET name = 'a'", {TRIGGER}),
        ("INSERT INTO code VALUES (1) ON CONFLICT (id) DO UPDATE SET note = 'a'", set()),
        ("INSERT INTO code VALUES (1) ON CONFLICT (id) DO UPDATE SET name = 'a'", {KEY_FOLLOWED}),
        ("INSERT INTO code VALUES (1, 'b') ON CONFLICT (id) DO UPDATE SET name = excluded.name",
         {KEY_FOLLOWED}),
        ("UPDATE code SET id = 2 WHERE id = 1", set()),
        ("UPDATE code SET name = 'a' WHERE id = 1", {KEY_FOLLOWED}),
        ("MERGE INTO code USING (VALUES (1)) s (k) ON id = k"
         " WHEN MATCHED THEN UPDATE SET name = 'a'",
         {KEY_FOLLOWED}),
        ("MERGE INTO item USING (VALUES (1)) s (k) ON id = k WHEN MATCHED THEN DELETE"
         " WHEN NOT MATCHED THEN INSERT VALUES (k)", {TRIGGER, CASCADE}),
        ("INSERT INTO shown VALUES (1, 1)", {TRIGGER}),
        ("UPDATE shown SET item = 1 WHERE id = 1", {TRIGGER}),
        ("DELETE FROM shown WHERE id = 1", set()),
        ("DELETE FROM kept WHERE id = 1", set()),
    ],
)  # fmt: skip
def test_side_effects_in_the_database(tmp_path: Path, sql: str, reasons: set[str]) -> None:
    trace = read(tmp_path, sql, schema=FOLLOWED)
    assert set(trace.left_out.counts) - {NO_ACCESS} == reasons


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO shown VALUES (1, 1)", []),
        ("INSERT INTO kept VALUES (1, 1)", [("insert", "part", 1)]),
        ("UPDATE shown SET item = 1 WHERE id = 1", [("read", "part", 1)]),
        ("DELETE FROM shown WHERE id = 1", [("delete", "part", 1)]),
        ("DELETE FROM kept WHERE id = 1", [("read", "part", 1)]),
    ],
)
def test_a_trigger_instead_of_a_write_to_a_view(
    tmp_path: Path, sql: str, expected: list[Access]
) -> None:
    assert touched(read(tmp_path, sql, schema=FOLLOWED)) == expected


def test_definitions_that_other_definitions_change(tmp_path: Path) -> None:
    path = tmp_path / "schema.sql"
    path.write_text(SCHEMA)
    catalog = read_definitions(path, LeftOut(strict=True))
    assert catalog.root("event_2027_01") == "event"
    assert catalog.tables["reading"].key == ("id",)
    assert catalog.tables["totals"].key == ()
    assert set(catalog.views) == {"cheap", "cheapest", "seventh", "sold"}
    assert Catalog(parents={"a": "b", "b": "a"}).root("a") in ("a", "b")


RULED = """
CREATE TABLE item (id integer PRIMARY KEY, name text);
CREATE TABLE log (id integer PRIMARY KEY, name text);
CREATE TABLE kept (id integer PRIMARY KEY, name text);

CREATE TABLE whole (id integer PRIMARY KEY, name text) PARTITION BY RANGE (id);
CREATE TABLE half PARTITION OF whole FOR VALUES FROM (0) TO (9);
CREATE VIEW shown AS SELECT id, name FROM kept;

CREATE VIEW plain AS SELECT id, name FROM item;
CREATE RULE a AS
    ON UPDATE TO public.item
   WHERE (new.name <> old.name) DO ( INSERT INTO log VALUES (new.id, new.name);
 DELETE FROM kept WHERE kept.id = new.id;
);

CREATE OR REPLACE RULE "no; delete" AS ON DELETE TO item DO INSTEAD NOTHING;
CREATE RULE c AS ON INSERT TO shown DO INSTEAD INSERT INTO log VALUES (new.id, new.name);

CREATE RULE d AS ON INSERT TO half DO ALSO NOTIFY halves;
CREATE RULE "_RETURN" AS ON SELECT TO log DO INSTEAD SELECT 1 AS id, ''::text AS name;
"""


@pytest.mark.parametrize(
    ("sql", "counted"),
    [
        ("UPDATE item SET name = 'a' WHERE id = 1", 1),
        ("DELETE FROM item WHERE id = 1", 1),
        ("INSERT INTO item VALUES (1, 'a')", 0),
        ("SELECT * FROM item WHERE id = 1 FOR UPDATE", 0),
        ("UPDATE plain SET name = 'a' WHERE id = 1", 1),
        ("INSERT INTO plain VALUES (1, 'a')", 0),
        ("INSERT INTO shown VALUES (1, 'a')", 1),
        ("UPDATE shown SET name = 'a' WHERE id = 1", 0),
        ("INSERT INTO half VALUES (1, 'a')", 1),
        ("SELECT * FROM log WHERE id = 1", 0),
        ("WITH gone AS (DELETE FROM item WHERE id = 1 RETURNING id) SELECT * FROM gone", 1),
    ],
)
def test_writes_that_rules_rewrite_are_guessed(tmp_path: Path, sql: str, counted: int) -> None:
    trace = read(tmp_path, sql, schema=RULED)
    assert trace.left_out.guessed[RULE] == counted
    assert all(made for _, made in trace.accesses())
    if counted:
        assert RULE in trace.left_out.named[RULE][0]
