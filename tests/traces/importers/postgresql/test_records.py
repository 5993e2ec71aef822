"""Damaged logs; the other tests read complete logs of a server."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.importers.postgresql.records import COLUMNS, Damage, Record, read_records

TIME = "2026-11-21 09:12:31.412 UTC"


def entry(message: str, columns: int = 26, encoding: str = "utf-8") -> bytes:
    """Return an entry as a server of some version writes it."""
    written = io.StringIO()
    fields = [TIME, "app", "shop", *[""] * (columns - 4), "end"]
    fields[13] = message
    csv.writer(written, lineterminator="\n").writerow(fields)
    return written.getvalue().encode(encoding)


def read(data: bytes, encoding: str = "utf-8") -> list[Record | Damage]:
    return list(read_records(io.BytesIO(data), encoding))


def messages(data: bytes) -> list[str]:
    return [one.fields[13] for one in read(data) if isinstance(one, Record)]


@pytest.mark.parametrize("columns", COLUMNS)
def test_the_columns_of_every_version(columns: int) -> None:
    (record,) = read(entry("statement: SELECT 1", columns))
    assert isinstance(record, Record)
    assert len(record.fields) == columns


@pytest.mark.parametrize("columns", [22, 25, 27])
def test_other_columns_are_reported(columns: int) -> None:
    (damage,) = read(entry("x", columns))
    assert isinstance(damage, Damage)
    assert f"({columns} columns)" in damage.reason


def test_entries_over_several_lines_have_the_number_of_the_first() -> None:
    found = read(entry('a\nb "c"\n\nd') + entry("e"))
    assert [(one.line, one.fields[13]) for one in found if isinstance(one, Record)] == [
        (1, 'a\nb "c"\n\nd'),
        (5, "e"),
    ]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"))))
def test_any_text_is_preserved(texts: list[str]) -> None:
    assert messages(b"".join(entry(text) for text in texts)) == texts


@given(st.data())
def test_only_the_truncated_entry_is_lost(data: st.DataObject) -> None:
    """A server was killed while it wrote, and another continued in the same file."""
    texts = ['one, "two"', "three\nfour", "five"]
    whole = [entry(text) for text in texts]
    cut = data.draw(st.integers(0, len(texts) - 1), "cut")
    kept = data.draw(st.integers(1, whole[cut].rindex(b",")), "kept")
    found = read(b"".join([*whole[:cut], whole[cut][:kept], *whole[cut + 1 :]]))
    others = texts[:cut] + texts[cut + 1 :]
    assert [one.fields[13] for one in found if isinstance(one, Record)] == others
    damage = [one for one in found if isinstance(one, Damage)]
    assert damage
    assert damage[0].line == 1 + sum(line.count(b"\n") for line in whole[:cut])


@pytest.mark.parametrize("columns", COLUMNS)
def test_the_last_entry_may_lack_the_end_of_its_line(columns: int) -> None:
    whole = entry("one", columns) + entry('two "and"\nmore', columns)
    assert messages(whole[:-1]) == ["one", 'two "and"\nmore']
    assert messages(entry("one", columns)[:-1]) == ["one"]
    (_, damage) = read(whole[: whole.rindex(b",")])
    assert isinstance(damage, Damage)


def test_byte_order_marks_within_a_concatenated_log() -> None:
    mark = b"\xef\xbb\xbf"
    assert messages(mark + entry("one") + mark + entry("two")) == ["one", "two"]


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_a_crash(data: bytes) -> None:
    for one in read(data):
        assert isinstance(one, Damage) or len(one.fields) in COLUMNS


def test_bytes_of_another_encoding_stay_distinct() -> None:
    (record,) = read(entry("Zoë", encoding="latin1"))
    assert isinstance(record, Record)
    assert (record.fields[13], record.exact) == ("Zo\\xeb", False)
    (record,) = read(entry("Zoë", encoding="latin1"), "latin1")
    assert isinstance(record, Record)
    assert (record.fields[13], record.exact) == ("Zoë", True)
