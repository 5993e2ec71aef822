"""The effects of a MERGE on rows, by its clauses."""

from __future__ import annotations

import pytest

from tests.traces.importers.postgresql import statements
from traces.importers.postgresql.accesses import DOES_NOTHING, KEY_NOT_NAMED
from traces.importers.postgresql.catalog import Catalog, TableDefinition
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.templates import Templates

CATALOG = Catalog(
    {
        "acct": TableDefinition(("id", "v"), ("id",)),
        "src": TableDefinition(("id", "v"), ("id",)),
    }
)
SCAN = ("scan", "acct", [""])


def written(key: str, kind: str = "update") -> tuple[str, str, list[str]]:
    return kind, "acct", [key]


MATCHED = "WHEN MATCHED THEN UPDATE SET v = 1"
FRESH = "WHEN NOT MATCHED THEN INSERT"


@pytest.mark.parametrize(
    ("clauses", "expected", "reasons"),
    [
        (f"{MATCHED} {FRESH} VALUES (s.id, 1)", [written("7")], set()),
        (f"{MATCHED} {FRESH} (v) VALUES (1)", [written("7")], set()),
        (f"{MATCHED} {FRESH} VALUES (9, 1)", [written("7"), written("9", "insert")], set()),
        (f"{MATCHED} {FRESH} VALUES (s.id + 1, 1)", [written("7")], {KEY_NOT_NAMED}),
        (f"{FRESH} (id) VALUES (s.id)", [written("7", "insert")], {DOES_NOTHING}),
        (f"{FRESH} (id) VALUES (9)", [written("7", "read"), written("9", "insert")],
         {DOES_NOTHING}),
        (f"{FRESH} (v) VALUES (9)", [written("7", "read"), ("insert", "acct", [])],
         {DOES_NOTHING}),
        ("WHEN MATCHED THEN UPDATE SET id = 5", [written("7"), written("5")], set()),
        ("WHEN MATCHED THEN UPDATE SET id = id + 1", [written("7")], {KEY_NOT_NAMED}),
        ("WHEN MATCHED THEN DELETE", [written("7", "delete")], set()),
        ("WHEN MATCHED THEN DO NOTHING", [written("7", "read")], set()),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", [SCAN], {KEY_NOT_NAMED}),
        (f"{MATCHED} WHEN NOT MATCHED BY SOURCE THEN DELETE", [SCAN], {KEY_NOT_NAMED}),
        (f"{MATCHED} WHEN NOT MATCHED BY SOURCE THEN DO NOTHING", [written("7")], set()),
    ],
)  # fmt: skip
def test_clauses(
    clauses: str, expected: list[tuple[str, str, list[str]]], reasons: set[str]
) -> None:
    sql = f"MERGE INTO acct USING (VALUES (7, 10)) AS s (id, v) ON acct.id = s.id {clauses}"
    assert statements.touched(sql, [], Templates(TableKeys(CATALOG))) == (expected, reasons)


@pytest.mark.parametrize(
    ("clauses", "source", "reasons"),
    [
        (MATCHED, ("read", "src", ["7"]), set()),
        (f"{FRESH} VALUES (s.id)", ("scan", "src", [""]), {KEY_NOT_NAMED, DOES_NOTHING}),
    ],
)
def test_rows_of_the_source_that_match_none(
    clauses: str, source: tuple[str, str, list[str]], reasons: set[str]
) -> None:
    sql = f"MERGE INTO acct USING src s ON acct.id = s.id AND s.id = 7 {clauses}"
    made, found = statements.touched(sql, [], Templates(TableKeys(CATALOG)))
    assert (made[0], found) == (source, reasons)
