"""The conversion of a recorded run to a trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs import Evaluator, subject_of, untuned
from envs.recorded_trace import RecordedTrace
from policies import Signature
from traces.manifest import Manifest, Source
from traces.reader import open_trace
from traces.schema import ACCESS_KINDS
from traces.validation import first_fault
from traces.writer import TraceWriter

SIGNATURE = Signature.from_dict(
    {
        "workload": "made_up",
        "types": [
            {
                "name": "pay",
                "accesses": [
                    {"id": 0, "name": "look", "table": "ACCOUNT", "kind": "read"},
                    {"id": 1, "name": "book", "table": "ACCOUNT", "kind": "read_modify_write"},
                    {"id": 2, "name": "note", "table": "JOURNAL", "kind": "insert"},
                ],
            },
            {
                "name": "close",
                "accesses": [
                    {"id": 3, "name": "range", "table": "JOURNAL", "kind": "scan"},
                    {"id": 4, "name": "drop", "table": "JOURNAL", "kind": "remove"},
                ],
            },
        ],
    }
)
PAY, CLOSE, QUERY = range(3)
LOOK, BOOK, NOTE, RANGE, DROP = range(5)
NAMES = ("pay", "close", "query")
BEGAN_US = 1_700_000_000_000_000

Accesses = list[tuple[int, int]]


@dataclass(frozen=True)
class Made:
    """A transaction with its begin, type, accesses and hints, the latter two as (key, state)."""

    began_us: int
    type: int
    accesses: Accesses
    rolled_back: bool = False
    hints: Accesses = field(default_factory=list)


class FakeTrace:
    """The engine's recording for given transactions."""

    began_us = BEGAN_US

    def __init__(self, *workers: list[Made]) -> None:
        self._of = workers
        self.workers = len(workers)

    def transactions(self, worker: int) -> np.ndarray:
        rows = [
            (
                *(one.began_us, len(one.accesses), one.type, len(one.hints)),
                *(one.rolled_back, one.type == QUERY),
            )
            for one in self._of[worker]
        ]
        kinds = [("began_us", "u8"), ("accesses", "u4"), ("type", "u2"), ("hints", "u2")]
        return np.array(rows, [*kinds, ("rolled_back", "u1"), ("on_snapshot", "u1")])

    def accesses(self, worker: int, first: int, count: int) -> np.ndarray:
        made = [access for one in self._of[worker] for access in one.accesses]
        return keyed(made[first : first + count])

    def hints(self, worker: int, first: int, count: int) -> np.ndarray:
        passed = [hint for one in self._of[worker] for hint in one.hints]
        return keyed(passed[first : first + count])


def keyed(rows: Accesses) -> np.ndarray:
    wanted = [(key % (1 << 64), state) for key, state in rows]
    return np.array(wanted, [("key", "u8"), ("state", "u2")])


def rows_of(*workers: list[Made], sessions: int = 1) -> list[dict[str, Any]]:
    tables = list(RecordedTrace(FakeTrace(*workers), SIGNATURE, NAMES).tables(sessions))
    for table in tables:
        for batch in table.to_batches():
            assert first_fault(batch) is None
    return pa.concat_tables(tables).to_pylist() if tables else []


def made_accesses(row: dict[str, Any]) -> list[tuple[int, str, str, int]]:
    return [(one["access"], one["kind"], one["table"], one["key"]) for one in row["accesses"]]


def test_a_transaction_has_its_accesses_as_the_signature_numbers_them() -> None:
    made = [(7, LOOK), (-3, NOTE), (9, RANGE), (9, DROP)]
    first, second = rows_of([Made(5, PAY, made[:2]), Made(6, CLOSE, made[2:], rolled_back=True)])
    assert made_accesses(first) == [(0, "read", "ACCOUNT", 7), (2, "insert", "JOURNAL", -3)]
    assert made_accesses(second) == [(0, "scan", "JOURNAL", 9), (1, "delete", "JOURNAL", 9)]
    assert [first["outcome"], second["outcome"]] == ["committed", "rolled_back"]
    assert [first["type"], second["type"]] == ["pay", "close"]
    assert second["begin"].timestamp() * 1_000_000 == BEGAN_US + 6


def test_a_read_and_its_update_are_one_access() -> None:
    made = [(7, BOOK), (7, BOOK), (8, BOOK), (8, BOOK), (8, LOOK)]
    (row,) = rows_of([Made(0, PAY, made)])
    assert made_accesses(row) == [
        (1, "update", "ACCOUNT", 7),
        (1, "update", "ACCOUNT", 8),
        (0, "read", "ACCOUNT", 8),
    ]


def test_accesses_of_two_transactions_to_a_row_stay_separate() -> None:
    rows = rows_of([Made(0, PAY, [(7, BOOK)]), Made(0, CLOSE, []), Made(1, PAY, [(7, BOOK)])])
    assert [len(row["accesses"]) for row in rows] == [1, 0, 1]


def test_hints_become_parameters() -> None:
    hints = [(7, LOOK), (8, BOOK), ((1 << 64) - 1, BOOK)]
    workers = [[Made(0, PAY, [], hints=hints), Made(2, QUERY, [])], [Made(1, CLOSE, [])]]
    rows = rows_of(*workers)
    assert [row["parameters"] for row in rows] == [
        [("look", "7"), ("book", f"8,{(1 << 64) - 1}")],
        [],
        [],
    ]


def test_accesses_of_snapshot_queries_are_unknown() -> None:
    trace = RecordedTrace(FakeTrace([Made(0, QUERY, []), Made(1, CLOSE, [])]), SIGNATURE, NAMES)
    (table,) = trace.tables(1)
    assert table["accesses"].to_pylist() == [None, []]
    assert [kind.name for kind in trace.types] == list(NAMES)
    assert [len(kind.accesses) for kind in trace.types] == [3, 2, 0]
    assert all(one.kind in ACCESS_KINDS for kind in trace.types for one in kind.accesses)


def test_transactions_of_all_workers_are_ordered_by_time_with_a_session_each() -> None:
    ones = [Made(us, PAY, [(us, LOOK)]) for us in (1, 4, 6)]
    others = [Made(us, PAY, [(us, LOOK)]) for us in (2, 3, 9)]
    rows = rows_of(ones, others, sessions=2)
    assert [made_accesses(row)[0][3] for row in rows] == [1, 2, 3, 4, 6, 9]
    assert [row["session"] for row in rows] == [0, 2, 3, 1, 0, 2]
    assert [row["transaction"] for row in rows] == list(range(6))


Drawn = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from([PAY, CLOSE, QUERY]),
        st.lists(st.tuples(st.integers(-9, 9), st.sampled_from([LOOK, NOTE])), max_size=4),
    ),
    max_size=12,
)


@given(st.lists(Drawn, min_size=1, max_size=3), st.integers(1, 4), st.integers(1, 5))
def test_no_transaction_is_lost_between_blocks(
    drawn: list[list[tuple[int, int, Accesses]]], sessions: int, block: int
) -> None:
    workers = []
    for transactions in drawn:
        now, made = 0, []
        for pause, kind, accesses in transactions:
            now += pause
            made.append(Made(now, kind, accesses if kind == PAY else []))
        workers.append(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("envs.recorded_trace.BLOCK", block)
        rows = rows_of(*workers, sessions=sessions)
    begins = [row["begin"] for row in rows]
    assert begins == sorted(begins)
    assert [row["transaction"] for row in rows] == list(range(len(rows)))
    told = Counter(
        (row["type"], tuple(key for *_, key in made_accesses(row)) if row["accesses"] else ())
        for row in rows
    )
    wanted = Counter(
        (NAMES[one.type], tuple(key for key, _ in one.accesses)) for made in workers for one in made
    )
    assert told == wanted


def test_a_recording_of_the_engine_is_a_complete_trace(tmp_path: Path) -> None:
    workload = {"name": "ycsb", "records": "1000", "rmw": "50", "read": "50", "operations": "4"}
    evaluator = Evaluator(workload, 2)
    try:
        subject = subject_of("ic3", evaluator.signature, untuned)
        result, trace = evaluator.record_trace(subject, 0.1, seed=1, bytes_max=256 << 20)
    finally:
        evaluator.close()
    with TraceWriter(tmp_path / "trace", Manifest("trace", Source("test"), trace.types)) as writer:
        for table in trace.tables(16):
            writer.write(table)
    batches = list(open_trace(tmp_path / "trace").batches())
    assert sum(len(batch) for batch in batches) == result.commits
    sessions = {one for batch in batches for one in batch["session"].to_pylist()}
    assert sessions == set(range(32))
    keys = np.concatenate([batch["accesses"].flatten().field("key") for batch in batches])
    assert len(set(keys.tolist())) <= 1000


def test_virtual_cores_record_none() -> None:
    evaluator = Evaluator({"name": "ycsb", "records": "100"}, 2, machine={"kind": "virtual"})
    subject = subject_of("silo", evaluator.signature, untuned)
    with pytest.raises(ValueError, match="machine=threads"):
        evaluator.record_trace(subject, 0.1, seed=1, bytes_max=1 << 20)
