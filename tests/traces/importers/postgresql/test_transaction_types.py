from __future__ import annotations

import pytest

from traces.importers.postgresql import templates as templates_module
from traces.importers.postgresql import transaction_types
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.templates import TOO_MANY, Templates
from traces.importers.postgresql.transaction_types import Types

ORDER = [
    "UPDATE district SET next = next + 1 WHERE id = 1",
    *[
        sql
        for item in range(4)
        for sql in (
            f"SELECT price FROM item WHERE id = {item}",
            f"UPDATE stock SET quantity = quantity - {item} WHERE item = {item}",
        )
    ],
    "INSERT INTO orders (id) VALUES (7)",
]


def codes_of(templates: Templates, statements: list[str]) -> list[int]:
    return [
        code
        for sql in statements
        for planned in templates.statements(sql)[1]
        for code in planned.template.codes
    ]


def test_loops_do_not_change_the_type() -> None:
    templates = Templates(TableKeys())
    types = Types(templates)
    one = types.of(codes_of(templates, ORDER))
    assert one is not None
    assert types.of(codes_of(templates, [*ORDER[:5], ORDER[-1]])) is one
    assert one.name.startswith("update_district+update_stock+1_more.")
    (described,) = types.described()
    assert [(access.access, access.name) for access in described.accesses] == [
        (0, "update_district"),
        (1, "read_item"),
        (2, "update_stock"),
        (3, "insert_orders"),
    ]


def test_names_do_not_depend_on_the_rest_of_the_log() -> None:
    names = []
    for before in ([], ["SELECT 1 FROM a WHERE b = 1", "SELECT 2 FROM a WHERE c = 1"]):
        templates = Templates(TableKeys())
        types = Types(templates)
        for sql in before:
            types.of(codes_of(templates, [sql]))
        one = types.of(codes_of(templates, ORDER))
        assert one is not None
        names.append(one.name)
    assert names[0] == names[1]


def test_types_of_one_table_are_distinguished() -> None:
    templates = Templates(TableKeys())
    types = Types(templates)
    for sql in ("UPDATE t SET a = 1 WHERE k = 1", "UPDATE t SET b = 1 WHERE k = 1"):
        types.of(codes_of(templates, [sql]))
    assert len(set(types.names)) == 2


def test_accesses_of_one_name_are_numbered() -> None:
    templates = Templates(TableKeys())
    types = Types(templates)
    statements = [f"UPDATE t SET {column} = 1 WHERE k = 1" for column in "abc"]
    types.of(codes_of(templates, statements))
    (described,) = types.described()
    assert [one.name for one in described.accesses] == ["update_t", "update_t_2", "update_t_3"]


def test_the_number_of_types_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_types, "TYPES_MAX", 2)
    templates = Templates(TableKeys())
    types = Types(templates)
    found = [types.of(codes_of(templates, [f"SELECT 1 FROM t{n} WHERE a = 1"])) for n in range(3)]
    assert [one is None for one in found] == [False, False, True]


def test_the_number_of_templates_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates_module, "TEMPLATES_MAX", 2)
    templates = Templates(TableKeys())
    # Names of cursors and savepoints vary; they do not make templates.
    for number in range(5):
        for sql in (f"DECLARE c{number} CURSOR FOR SELECT 1 FROM t0", f"SAVEPOINT s{number}"):
            (planned,) = templates.statements(sql)[1]
            assert planned.template.accesses.faults == ()
    faults = [
        templates.statements(f"SELECT 1 FROM t{number}")[1][0].template.accesses.faults
        for number in range(3)
    ]
    assert faults == [(), (), (TOO_MANY,)]
