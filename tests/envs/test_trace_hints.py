"""The conversion of hints to parameters of a trace, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.trace_hints import hints_column, hints_of
from policies import Signature
from traces.errors import TraceError
from traces.schema import TRANSACTION

SIGNATURE = Signature.from_dict(
    {
        "workload": "made_up",
        "types": [
            {
                "name": "pay",
                "accesses": [
                    {"id": 0, "name": "look", "table": "ACCOUNT", "kind": "read"},
                    {"id": 1, "name": "book", "table": "ACCOUNT", "kind": "update", "loop": True},
                ],
            },
            {
                "name": "close",
                "accesses": [{"id": 2, "name": "look", "table": "ACCOUNT", "kind": "read"}],
            },
        ],
    }
)
Keys = st.lists(st.integers(0, (1 << 64) - 1), max_size=4)
Passed = st.lists(st.tuples(st.sampled_from(["pay", "close"]), Keys, Keys), max_size=8)


def column_of(parameters: list[list[tuple[str, str]] | None]) -> pa.MapArray:
    return pa.array(parameters, TRANSACTION.field("parameters").type)


@settings(deadline=None)  # the first use of a function of Arrow is slow
@given(Passed)
def test_written_hints_are_read_back(passed: list[tuple[str, list[int], list[int]]]) -> None:
    each = [
        [(0, key) for key in looks] + [(1, key) for key in books]
        if kind == "pay"
        else [(2, key) for key in looks]
        for kind, looks, books in passed
    ]
    counts = np.array([len(hints) for hints in each], np.int64)
    states = np.array([state for hints in each for state, _ in hints], np.int64)
    keys = np.array([key for hints in each for _, key in hints], np.uint64)
    types = np.array([("pay", "close").index(kind) for kind, *_ in passed], np.int64)
    column = hints_column(counts, states, keys, SIGNATURE)
    for first in (0, min(2, len(passed))):  # also with a part of a column
        found = hints_of(column[first:], types[first:], SIGNATURE)
        assert found.counts.tolist() == counts[first:].tolist()
        gone = int(counts[:first].sum())
        assert found.states.tolist() == states[gone:].tolist()
        assert found.keys.tolist() == keys[gone:].tolist()


def test_keys_of_a_parameter_are_grouped_at_the_first() -> None:
    column = hints_column(
        np.array([4]), np.array([1, 0, 1, 1]), np.array([5, 6, 7, 5], np.uint64), SIGNATURE
    )
    assert column.to_pylist() == [[("book", "5,7,5"), ("look", "6")]]


def test_other_parameters_are_unchanged() -> None:
    column = column_of([[("price", "9.99"), ("look", "3")], None, [("book", "4")], [("look", "5")]])
    found = hints_of(column, np.array([0, 0, 1, 7]), SIGNATURE)
    assert found.counts.tolist() == [1, 0, 0, 0]
    assert found.states.tolist() == [0]
    assert found.keys.tolist() == [3]


@pytest.mark.parametrize("text", ["", "x", "1,", "-1", "1.5", str(1 << 64)])
def test_a_parameter_that_is_not_a_key_is_an_error(text: str) -> None:
    with pytest.raises(TraceError, match="holds no key"):
        hints_of(column_of([[("look", text)]]), np.array([0]), SIGNATURE)
