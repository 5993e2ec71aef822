from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces.replay.some_programs import CANCEL, ORDER, TYPES, cancel, made, order, shop
from tests.traces.some_transactions import NOON, OTHER, manifest, row, write
from traces.errors import TraceError
from traces.reader import open_trace
from traces.replay.make import make_program
from traces.replay.numbering import Rows, Sessions
from traces.replay.part import choose_part
from traces.replay.program import Program, read_program


def program_of(
    folder: Path, day: str | None = None, hours: str | None = None, exclude: tuple[str, ...] = ()
) -> Program:
    trace = open_trace(folder)
    path = folder.parent / "program"
    make_program(trace, choose_part(trace, day, hours, exclude), path)
    return read_program(path)


def values(program: Program, array: str) -> list[int]:
    return [int(one) for one in program.arrays[array]]


def test_all_inputs_are_copied_in_order(tmp_path: Path) -> None:
    rows = [
        order(1, 70, session=9),
        order(2, -5, session=4, outcome="rolled_back"),
        cancel(3, 1, 70, session=9),
        cancel(4, 77, 12, session=9),
    ]
    program = program_of(shop(tmp_path / "trace", *rows))
    assert program.header["transactions"] == 4
    assert program.header["sessions"] == 2
    assert program.header["tables"] == [{"name": "goods", "rows": 3}, {"name": "orders", "rows": 3}]
    assert [one["name"] for one in program.header["types"]] == ["order", "cancel"]
    assert program.header["types"][1]["accesses"][1] == {
        "name": "drop_order",
        "table": 1,
        "kind": "delete",
    }
    assert values(program, "begin") == [0, 0, 0, 0]
    assert values(program, "first_access") == [0, 3, 6, 9, 12]
    assert values(program, "type") == [0, 0, 1, 1]
    assert values(program, "session") == [0, 1, 0, 0]
    assert values(program, "rolls_back") == [0, 1, 0, 0]
    assert values(program, "access") == [0, 1, 2] * 4
    # Rows are numbered in the order of their keys: -5 12 70, and 1001 1002 1077.
    assert values(program, "row") == [2, 2, 0, 0, 0, 1, 0, 0, 2, 2, 2, 1]
    assert values(program, "born") == [0, 0, 0, 1, 1, 0]


def test_the_start_of_a_scan_alone_is_no_row(tmp_path: Path) -> None:
    rows = [row(1, type="cancel", accesses=made(CANCEL, (0, 5), (1, 6)))]
    assert values(program_of(shop(tmp_path / "trace", *rows)), "born") == [1, 0]


def test_excluded_transactions_are_counted(tmp_path: Path) -> None:
    rows = [order(1, 1), row(2, type="chat", accesses=None), row(3, type="order", accesses=None)]
    program = program_of(shop(tmp_path / "trace", *rows))
    assert program.header["transactions"] == 1
    assert sum(program.header["left_out"].values()) == 2


def test_excluded_types_are_counted(tmp_path: Path) -> None:
    rows = [order(1, 1), cancel(2, 1, 1), row(3, type="chat", accesses=None), order(4, 4)]
    folder = shop(tmp_path / "trace", *rows)
    program = program_of(folder, exclude=("cancel", "chat"))
    assert [one["name"] for one in program.header["types"]] == ["order"]
    assert program.header["left_out"] == {"of an excluded type": 2}
    assert values(program, "type") == [0, 0]
    assert values(program, "access") == [0, 1, 2] * 2


def test_types_that_cannot_be_excluded(tmp_path: Path) -> None:
    folder = shop(tmp_path / "trace", order(1, 1))
    with pytest.raises(TraceError, match=r"exclude='cancle': .* mean cancel\?\ntypes: order"):
        program_of(folder, exclude=("cancle",))
    with pytest.raises(TraceError, match="exclude=cancel,order: leaves no type"):
        program_of(folder, exclude=("order", "cancel"))


def test_days_and_hours_combined(tmp_path: Path) -> None:
    days = [NOON.replace(day=1 + number % 3, hour=number % 24) for number in range(72)]
    rows = [order(number, number, begin=begin) for number, begin in enumerate(sorted(days))]
    folder = shop(tmp_path / "trace", *rows)
    assert program_of(folder).header["transactions"] == 72
    assert program_of(folder, "2026-03-02").header["transactions"] == 24
    part = program_of(folder, "2026-03-02", "1-7")
    assert part.header["transactions"] == sum(1 <= one.hour < 7 and one.day == 2 for one in days)
    assert values(part, "begin")[0] == 0


@pytest.mark.parametrize(
    ("rows", "types", "words"),
    [
        ([row(1, type="chat", accesses=None)], TYPES, "no transaction can be replayed"),
        ([row(1, type="other", accesses=None)], (OTHER,), "declares its accesses"),
    ],
)
def test_nothing_to_replay_is_reported(
    tmp_path: Path, rows: list[dict[str, Any]], types: Any, words: str
) -> None:
    folder = write(tmp_path / "trace", rows, manifest=manifest(types=types))
    with pytest.raises(TraceError, match=words):
        program_of(folder)
    assert not (tmp_path / "program").exists()


def test_a_damaged_trace_leaves_no_program(tmp_path: Path) -> None:
    folder = shop(tmp_path / "trace")
    part = open_trace(folder).files(NOON.date())[0]
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(TraceError, match="damaged"):
        program_of(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]


def test_an_unwritable_path_is_reported(tmp_path: Path) -> None:
    trace = open_trace(shop(tmp_path / "trace"))
    with pytest.raises(TraceError, match="can't be written"):
        make_program(trace, choose_part(trace), tmp_path / "none" / "program")


KEYS = st.lists(st.integers(-3, 3), min_size=1)


@given(st.lists(KEYS, max_size=5), st.data())
def test_rows_do_not_depend_on_batches(pieces: list[list[int]], data: st.DataObject) -> None:
    keys = np.array([key for piece in pieces for key in piece], np.int64)
    kinds = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(keys), max_size=len(keys))), np.int64
    )
    inserts, scans = kinds == 1, kinds == 2
    rows, at = Rows(), 0
    for piece in pieces:
        end = at + len(piece)
        rows.add(keys[at:end], inserts[at:end], scans[at:end])
        at = end
    assert (np.unique(keys)[rows.numbers(keys)] == keys).all()
    for number, key in enumerate(np.unique(keys)):
        done = kinds[(keys == key) & ~scans]
        assert rows.born[number] == (len(done) == 0 or done[0] == 1)


@given(st.lists(KEYS, max_size=5))
def test_sessions_are_numbered_as_they_appear(pieces: list[list[int]]) -> None:
    sessions = Sessions()
    for piece in pieces:
        sessions.add(np.array(piece, np.int64))
    order_ = list(dict.fromkeys(one for piece in pieces for one in piece))
    assert len(sessions) == len(order_)
    assert sessions.numbers(np.array(order_, np.int64)).tolist() == list(range(len(order_)))


def test_types_match_the_trace(tmp_path: Path) -> None:
    """A policy for one day therefore fits the next, whatever that day contains."""
    program = program_of(shop(tmp_path / "trace", order(1, 1)))
    assert [one["name"] for one in program.header["types"]] == [ORDER.name, CANCEL.name]
