from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import ACTION_GROUPS, Encoding, Signature
from tests.trainer import fake_engine
from trainer.search.mutation import cross_rows, mutate_cells, mutate_kind, rows_of
from trainer.search.space import Space

ENCODING = Encoding(Signature.from_dict(fake_engine.signature({"name": "tpcc"})))
SPACE = Space(ENCODING, ACTION_GROUPS)
VECTORS = st.tuples(*(st.integers(0, size - 1) for size in ENCODING.nvec))


@given(VECTORS, st.floats(0, 1), st.floats(0, 100), st.integers(0, 2**32))
def test_a_mutation_is_a_valid_nearby_table(
    vector: tuple[int, ...], probability: float, distance: float, seed: int
) -> None:
    child = list(vector)
    mutate_cells(child, SPACE, probability, distance, Random(seed))
    reach = max(1, round(distance + 1e-9))
    for cell, before, after in zip(ENCODING.cells, vector, child, strict=True):
        assert 0 <= after < len(cell.choices)
        assert cell.mutable or after == before
        assert cell.binary or abs(after - before) <= reach


@given(VECTORS, st.integers(0, 2**32))
def test_probability_zero_changes_nothing_and_one_flips_every_binary_cell(
    vector: tuple[int, ...], seed: int
) -> None:
    same, flipped = list(vector), list(vector)
    mutate_cells(same, SPACE, 0.0, 4.0, Random(seed))
    mutate_cells(flipped, SPACE, 1.0, 4.0, Random(seed))
    assert tuple(same) == vector
    for cell, before, after in zip(ENCODING.cells, vector, flipped, strict=True):
        if cell.binary and cell.mutable:
            assert after == 1 - before


def test_integers_clip_and_never_wrap() -> None:
    """From the lowest value, half of all moves stay there; wrapped values would be high."""
    lowest = [0] * ENCODING.size
    counts: dict[int, int] = {}
    index = next(i for i, cell in enumerate(ENCODING.cells) if cell.kind == "wait")
    for seed in range(500):
        child = list(lowest)
        mutate_cells(child, SPACE, 1.0, 3.0, Random(seed))
        counts[child[index]] = counts.get(child[index], 0) + 1
    assert set(counts) == {0, 1, 2, 3}
    assert counts[0] > 200


@pytest.mark.parametrize("probability", [0.02, 0.3])
def test_the_probability_applies_to_each_cell(probability: float) -> None:
    binary = [i for i, cell in enumerate(ENCODING.cells) if cell.binary and cell.mutable]
    flips = 0
    for seed in range(400):
        child = [0] * ENCODING.size
        mutate_cells(child, SPACE, probability, 1.0, Random(seed))
        flips += sum(child[i] for i in binary)
    assert flips / (400 * len(binary)) == pytest.approx(probability, rel=0.15)


def test_rows_are_states_then_backoffs() -> None:
    rows = rows_of(ENCODING)
    assert len(rows) == 26 + 3
    assert [index for row in rows for index in row] == list(range(ENCODING.size))
    assert all(len(row) == ENCODING.row_width for row in rows[:26])


@given(VECTORS, VECTORS, st.integers(0, 2**32))
def test_crossover_does_not_split_rows(
    one: tuple[int, ...], other: tuple[int, ...], seed: int
) -> None:
    first, second = list(one), list(other)
    cross_rows(first, second, ENCODING, Random(seed))
    for row in rows_of(ENCODING):
        span = slice(row.start, row.stop)
        straight = (tuple(first[span]), tuple(second[span])) == (one[span], other[span])
        swapped = (tuple(first[span]), tuple(second[span])) == (other[span], one[span])
        assert straight or swapped


def test_a_focused_child_differs_in_one_kind_of_action_only() -> None:
    encoding = ENCODING
    parent = [min(1, size - 1) for size in encoding.nvec]
    kinds_changed = set()
    for seed in range(200):
        child = list(parent)
        mutate_kind(child, SPACE, 0.01, 4.0, Random(seed))
        kinds = {
            "backoff" if cell.state is None else cell.kind
            for cell, old, new in zip(encoding.cells, parent, child, strict=True)
            if old != new
        }
        assert len(kinds) <= 1
        kinds_changed |= kinds
    assert kinds_changed == {
        "wait",
        "read_version",
        "write_visibility",
        "early_validation",
        "backoff",
    }
