from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import SchedulingProblem, TransactionBatch
from tests.scale import scaled
from tests.trainer.schedule import naive
from trainer.schedule.batch import PROTOCOLS, Operation, make_batch

FIGURE_1: list[list[Operation]] = [[("r", "x"), ("w", "z")], [("r", "z"), ("w", "x")]] * 2
READ_WRITE: list[Operation] = [("r", "X"), ("w", "X")]
FILLER: Operation = ("*", None)

operations = st.one_of(st.tuples(st.sampled_from(["r", "w"]), st.integers(0, 3)), st.just(("*", 0)))
transactions = st.lists(operations, min_size=1, max_size=6)
batches = st.lists(transactions, min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("batch", "order", "expected"),
    [
        (FIGURE_1, [0, 1, 2, 3], [8, 8, 5]),
        (FIGURE_1, [0, 2, 1, 3], [6, 6, 4]),
        ([READ_WRITE] * 3, [0, 1, 2], [6, 6, 4]),
        ([[*READ_WRITE, FILLER, FILLER, FILLER]] * 2, [0, 1], [7, 10, 9]),
        ([[FILLER]], [0], [1, 1, 1]),
    ],
)
def test_worked_examples(
    batch: list[list[Operation]], order: list[int], expected: list[int]
) -> None:
    found = [make_batch(batch).problem(protocol).makespan(order) for protocol in PROTOCOLS]
    assert found == expected
    assert [naive.makespan(batch, order, protocol) for protocol in PROTOCOLS] == expected


@settings(max_examples=scaled(40))
@given(batches, st.sampled_from(PROTOCOLS), st.randoms(use_true_random=False))
def test_incremental_placement_matches_the_whole_order(
    batch: list[list[Operation]], protocol: str, random: object
) -> None:
    order = list(range(len(batch)))
    random.shuffle(order)  # type: ignore[attr-defined]
    problem = make_batch(batch).problem(protocol)
    assert problem.starts(order).tolist() == naive.starts(batch, order, protocol)
    assert problem.makespan(order) == naive.makespan(batch, order, protocol)


@settings(max_examples=scaled(20))
@given(batches, st.sampled_from(PROTOCOLS))
def test_part_of_an_order_can_be_placed(batch: list[list[Operation]], protocol: str) -> None:
    problem = make_batch(batch).problem(protocol)
    half = list(range(0, len(batch), 2))
    assert problem.makespan(half) == naive.makespan(batch, half, protocol)
    assert problem.makespan([]) == 0


def test_unknown_keys_take_time_but_do_not_conflict() -> None:
    batch = make_batch([READ_WRITE] * 3)
    blind = batch.only_keys(np.array([False]))
    assert blind.problem("mvtso").makespan([0, 1, 2]) == 2
    assert batch.only_keys(np.array([True])).problem("mvtso").makespan([0, 1, 2]) == 6
    fillers = make_batch([[FILLER]])
    assert fillers.only_keys(np.array([], bool)).problem("lock").makespan([0]) == 1


@pytest.mark.parametrize("order", [[0, 0], [1], [-1], [2**32]])
def test_an_order_has_every_transaction_exactly_once(order: list[int]) -> None:
    problem = make_batch([READ_WRITE]).problem("mvtso")
    with pytest.raises((ValueError, TypeError)):
        problem.makespan(order)


def test_inconsistent_arrays_are_refused() -> None:
    for lengths, accesses, keys in [
        ([2], [1], [0]),
        ([1], [1, 1], [0, 0]),
        ([0, 1], [1], [0]),
        ([1], [3], [0]),
        ([1], [1], [0, 1]),
        ([1], [1], [2**32 - 1]),
    ]:
        with pytest.raises(ValueError, match=r"."):
            TransactionBatch(lengths, accesses, keys)
    with pytest.raises(ValueError, match="give mvtso, lock or occ"):
        SchedulingProblem(TransactionBatch([1], [1], [0]), "2pl")
