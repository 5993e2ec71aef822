from __future__ import annotations

from traces.importers.postgresql.table_keys import TableKeys


def test_keys_of_tables_without_definition_are_what_is_asked_by_first() -> None:
    keys = TableKeys()
    assert keys.asked_by("t") is None
    assert keys.asked("t", {"b", "a"}) == ("a", "b")
    assert keys.asked("t", {"a", "b", "version"}) == ("a", "b")
    assert keys.asked("t", {"a"}) == ("a",)
