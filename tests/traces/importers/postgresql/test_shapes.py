from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.importers.postgresql.literals import split
from traces.importers.postgresql.shapes import NULL, Shape, shapes_of


def shape(sql: str) -> Shape:
    (one,) = shapes_of(split(sql))
    return one


def literals_of(sql: str) -> list[list[str]]:
    """Return the literals of each slot, with their signs."""
    parts = split(sql)
    (one,) = shapes_of(parts)
    return [
        [
            "NULL" if place == NULL else ("-" if place < 0 else "") + parts[abs(place)]
            for place in slot
        ]
        for slot in one.slots
    ]


@pytest.mark.parametrize(
    "others",
    [
        (
            "SELECT a FROM t WHERE b = 5",
            "select  a\nfrom T where b=-7 -- x",
            "SELECT a FROM t WHERE b='x'",
        ),
        ("SELECT a FROM t WHERE b IN (1)", "SELECT a FROM t WHERE b IN (1, -2, $3)"),
        ("INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES (1, NULL), ($1, 'b'),(-3,'c')"),
        ("SELECT a - 5, -1", "SELECT a - 6, +1", "SELECT a -6,-1"),
        ("SELECT b'101', E'a'", "SELECT B'10', 'y'"),
        ("SELECT 1 WHERE (a, b) IN ((1, 2))", "SELECT 1 WHERE (a, b) IN ((1, 2), (3, 4))"),
    ],
)
def test_statements_of_one_shape(others: tuple[str, ...]) -> None:
    assert len({shape(sql).text for sql in others}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a FROM t WHERE b = 5", "SELECT a FROM t WHERE c = 5"),
        ("SELECT a FROM t WHERE b = 5", "SELECT a FROM t WHERE b > 5"),
        ("SELECT a FROM t", 'SELECT a FROM "T"'),
        ("SELECT a - 5", "SELECT a + 5"),
        ("INSERT INTO t VALUES (1, 2)", "INSERT INTO t VALUES (1, now())"),
        ("SELECT a IS NULL", "SELECT a IS NOT NULL"),
        ("SELECT '101'", "SELECT b'101'"),
        ("SELECT x'101'", "SELECT b'101'"),
    ],
)
def test_statements_of_two_shapes(one: str, other: str) -> None:
    assert shape(one).text != shape(other).text


def test_slots_have_the_literals_of_folded_lists() -> None:
    assert literals_of("INSERT INTO t VALUES (1, 'a'), (-2, NULL)") == [
        ["1", "-2"],
        ["'a'", "NULL"],
    ]
    assert literals_of("x WHERE a IN (1, 2) AND b = -3") == [["1", "2"], ["-3"]]
    assert literals_of("x WHERE (a, b) IN ((1, 2), (3, 4))") == [["1", "3"], ["2", "4"]]


def test_several_statements() -> None:
    found = shapes_of(split("BEGIN; ; SELECT ';' ; COMMIT;"))
    assert [one.text for one in found] == ["begin", "select ?", "commit"]


@given(st.lists(st.integers(), min_size=1), st.booleans())
def test_numbers_do_not_change_the_shape(numbers: list[int], spaced: bool) -> None:
    listed = (", " if spaced else ",").join(str(number) for number in numbers)
    sql = f"UPDATE t SET a=a+{numbers[0]} WHERE b={numbers[-1]} AND c IN ({listed})"
    assert shape(sql).text == shape("UPDATE t SET a = a + 1 WHERE b = 1 AND c IN (1)").text
    found = [[int(one) for one in slot] for slot in literals_of(sql)]
    assert found == [[numbers[0]], [numbers[-1]], numbers]
