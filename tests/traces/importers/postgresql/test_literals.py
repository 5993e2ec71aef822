from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.importers.postgresql.literals import quoted, split, statements, value

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def values(sql: str) -> list[str]:
    return [value(one) for one in split(sql)[1::2]]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a = 1 AND b=2.50 AND c = .5 AND d = 1e-3", ["1", "2.50", ".5", "1e-3"]),
        ("a = 0xFF", ["0xFF"]),
        ("t1.c2 = $1 AND int4(a3) = $12", ["$1", "$12"]),
        ("a = 'it''s' AND b = ''", ["it's", ""]),
        (r"a = 'C:\' AND b = 'x'", ["C:\\", "x"]),
        (r"a = E'it\'s\n\x41\u00e9'", ["it's\nA\xe9"]),
        (r"a = U&'Zo\00eb'", ["Zoë"]),
        ("a = $$it's$$ AND b = $x$ $$ $x$", ["it's", " $$ "]),
        ("a -- 1 'b\n = 2", ["2"]),
        ("a /* 1 /* 'b */ 2 */ = 3", ["3"]),
        ("a = '--' AND b = '/*'", ["--", "/*"]),
        ('"it\'s" = 1 AND "a 5" = 2 AND "--" = 3', ["1", "2", "3"]),
        ("a[1] = 2 AND x::int4 = 3", ["1", "2", "3"]),
        ("a = 'never closed", []),
    ],
)
def test_literals(sql: str, expected: list[str]) -> None:
    assert values(sql) == expected


@given(TEXTS)
def test_quoting_is_reversible(text: str) -> None:
    parts = split(f"UPDATE t SET a = {quoted(text)} WHERE b = 1")
    assert parts[::2] == ["UPDATE t SET a = ", " WHERE b = ", ""]
    assert [value(one) for one in parts[1::2]] == [text, "1"]


@given(st.text())
def test_gaps_and_literals_alternate_for_any_text(text: str) -> None:
    parts = split(text)
    assert len(parts) % 2 == 1
    assert all(part[0] in "'$.0123456789" for part in parts[1::2])


def test_a_script_is_split_at_semicolons() -> None:
    script = "a; -- b;\n'c;' /* ; */ d;$$ ; $$"
    assert [text for _, text in statements(script)] == ["a", " -- b;\n'c;' /* ; */ d", "$$ ; $$"]
    assert all(script[place:].startswith(text) for place, text in statements(script))
