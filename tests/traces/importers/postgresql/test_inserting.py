"""The keys of inserted rows."""

from __future__ import annotations

import pytest

from tests.traces.importers.postgresql import statements
from traces.importers.postgresql.accesses import DOES_NOTHING, KEY_NOT_NAMED
from traces.importers.postgresql.catalog import Catalog, TableDefinition
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.templates import Templates

CATALOG = Catalog(
    {
        "acct": TableDefinition(("id", "v"), ("id",), {}, {"acct_pkey": ("id",)}),
        "pair": TableDefinition(("a", "b", "v"), ("a", "b")),
        "heap": TableDefinition(("a", "b"), ()),
    }
)
UPSERT = "ON CONFLICT (id) DO UPDATE SET v = 1"


def touched(sql: str) -> tuple[str, list[str], set[str]]:
    """Return kind, keys and reasons of an insertion; generated keys are omitted."""
    made, reasons = statements.touched(f"INSERT INTO {sql}", [], Templates(TableKeys(CATALOG)))
    written = [(kind, found) for kind, table, found in made if kind != "scan"]
    ((kind, found),) = written or [("", [])]
    return kind, [key.replace("\x1f", ",") for key in found], reasons


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("acct (v, id) SELECT * FROM unnest('{1,2}'::int[], '{7,8}'::int[])", ["7", "8"]),
        ("acct (v, id) SELECT x.* FROM (VALUES (1, 7), (2, 8)) x (v, id)", ["7", "8"]),
        ("acct (v, id) SELECT x.v, x.id FROM unnest('{1,2}', '{7,8}') x (v, id)", ["7", "8"]),
        ("acct SELECT s.k, 1 FROM (SELECT unnest('{7,8}'::int[]) AS k) s", ["7", "8"]),
    ],
)
def test_rows_of_constants(rows: str, expected: list[str]) -> None:
    assert touched(rows) == ("insert", expected, set())
    assert touched(f"{rows} {UPSERT}") == ("update", expected, set())
    named = f"WITH y AS (VALUES (7), (8)) INSERT INTO acct (id) SELECT * FROM y {UPSERT}"
    made, reasons = statements.touched(named, [], Templates(TableKeys(CATALOG)))
    assert (made, reasons) == ([("update", "acct", ["7", "8"])], set())


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("pair (a, b) SELECT * FROM unnest('{1,2}'::int[], '{10,20}'::int[])", ["1,10", "2,20"]),
        ("pair (a, b) SELECT 5, x FROM unnest('{1,2}'::int[]) x", ["5,1", "5,2"]),
        ("pair VALUES (1, 10), (2, 20)", ["1,10", "2,20"]),
    ],
)
def test_rows_of_several_columns(rows: str, expected: list[str]) -> None:
    assert touched(rows) == ("insert", expected, set())


@pytest.mark.parametrize(
    "rows",
    [
        "acct SELECT * FROM generate_series(1, 3)",
        "acct SELECT n FROM generate_series(1, 3) n",
        "acct SELECT unnest('{1,2}'::int[]) LIMIT 1",
        "acct SELECT x.* FROM (VALUES (1, 7), (2, 8)) x (id, v) WHERE x.v > 7",
        "acct VALUES (7 + 0, 1)",
        "acct VALUES ((SELECT max(id) + 1 FROM acct), 1)",
        "acct VALUES (current_date, 1)",
    ],
)
def test_computed_keys_are_counted(rows: str) -> None:
    for sql in (rows, f"{rows} {UPSERT}"):
        assert touched(sql)[1:] == ([], {KEY_NOT_NAMED})


@pytest.mark.parametrize(
    "rows",
    [
        "acct VALUES (DEFAULT, 1)",
        "acct VALUES (nextval('s'), 1)",
        "acct VALUES (gen_random_uuid(), 1)",
        "acct (v) VALUES (7 + 0)",
        "pair VALUES (5, nextval('s'))",
        "heap VALUES (7 + 0, 1)",
    ],
)
def test_generated_keys_are_unique(rows: str) -> None:
    assert touched(rows) == ("insert", [], set())


def test_an_unknown_constraint() -> None:
    row = "acct VALUES (7, 1) ON CONFLICT ON CONSTRAINT"
    assert touched(f"{row} acct_pkey DO UPDATE SET v = 1") == ("update", ["7"], set())
    assert touched(f"{row} other DO UPDATE SET v = 1") == ("insert", ["7"], {KEY_NOT_NAMED})
    assert touched(f"{row} other DO NOTHING")[2] == {KEY_NOT_NAMED, DOES_NOTHING}
