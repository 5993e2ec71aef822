from __future__ import annotations

from traces.importers.postgresql.table_keys import TableKeys


def test_the_first_predicates_are_the_key_of_an_undefined_table() -> None:
    keys = TableKeys()
    assert keys.asked_by("t") is None
    assert keys.asked("t", {"b", "a"}) == ("a", "b")
    assert keys.asked("t", {"a", "b", "version"}) == ("a", "b")
    assert keys.asked("t", {"a"}) == ("a",)
