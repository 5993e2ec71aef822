from __future__ import annotations

import subprocess
import sys
from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.keys import combined_keys, keys_of

HASH_OF_ANNA = 7503624139547223366
"""BLAKE2b with 8 bytes of "anna", big-endian, without its last bit, computed by hashlib."""


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_integers_are_unchanged(values: list[int | None]) -> None:
    assert keys_of(pa.array(values, pa.int64())).to_pylist() == values


EDGES = st.sampled_from([2**63 - 1, -(2**63), 10**18, -(10**18), 0])


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | EDGES))
def test_integers_in_quotes_are_the_same_keys(values: list[int]) -> None:
    assert keys_of(pa.array([str(one) for one in values], pa.string())).to_pylist() == values
    assert keys_of(pa.array([str(one).encode() for one in values], pa.binary())) == keys_of(
        pa.array(values, pa.int64())
    )


@given(st.lists(st.integers(-(10**19), 10**19) | EDGES | st.text(), min_size=1))
def test_a_key_does_not_depend_on_other_values(values: list[int | str]) -> None:
    texts = [str(value) for value in values]
    together = keys_of(pa.array([*texts, "x"])).to_pylist()[:-1]
    assert together == [keys_of(pa.array([text]))[0].as_py() for text in texts]
    for value, key in zip(values, together, strict=True):
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            assert key == value
        elif isinstance(value, int):
            assert key >= 0


def test_bytes_that_are_not_text_are_parts_of_keys() -> None:
    row, session = pa.array([b"caf\xe9", b"7", None]), pa.array(["a", "b", None])
    keys = combined_keys([row, session]).to_pylist()
    assert keys[1:] == [combined_keys([pa.array(["7"]), pa.array(["b"])])[0].as_py(), None]
    assert keys[0] not in (None, keys[1])


@given(st.lists(st.none() | st.text() | st.integers().map(str), min_size=1, unique=True))
def test_different_texts_are_different_keys(values: list[str | None]) -> None:
    keys = keys_of(pa.array(values, pa.string())).to_pylist()
    assert len(set(keys)) == len(values)
    assert [key is None for key in keys] == [value is None for value in values]
    assert all(key is None or -(2**63) <= key < 2**63 for key in keys)


@pytest.mark.parametrize(
    "text", ["007", "+7", "-0", "7 ", "٧", "9" * 19, "-" + "9" * 19, "1.0", "", "x" * 10**6]
)
def test_other_texts_are_hashed(text: str) -> None:
    key = keys_of(pa.array([text]))[0].as_py()
    assert key >= 0
    assert key != 7


@pytest.mark.slow
def test_a_key_is_the_same_in_every_process_and_batch() -> None:
    code = (
        "import pyarrow as pa; from traces.keys import keys_of; print(keys_of(pa.array(['anna'])))"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert str(HASH_OF_ANNA) in printed[0]
    assert keys_of(pa.array(["7", "anna", None, "anna"])).to_pylist() == [
        7,
        HASH_OF_ANNA,
        None,
        HASH_OF_ANNA,
    ]


def test_other_types_are_hashed_by_their_text() -> None:
    day = keys_of(pa.array([date(2026, 3, 1)]))
    assert day == keys_of(pa.array(["2026-03-01"]))
    assert keys_of(pa.array([2**64 - 1], pa.uint64())) == keys_of(pa.array([str(2**64 - 1)]))
    assert keys_of(pa.array([5], pa.uint64())).to_pylist() == [5]
    assert keys_of(pa.array(["a", "b"]).dictionary_encode()) == keys_of(pa.array(["a", "b"]))
    assert keys_of(pa.chunked_array([["a"], ["b"]])) == keys_of(pa.array(["a", "b"]))


def test_keys_of_several_columns() -> None:
    one, other = pa.array(["a", "ab", None, None]), pa.array(["bc", "c", "c", None])
    keys = combined_keys([one, other]).to_pylist()
    assert len(set(keys)) == 4
    assert keys[3] is None
    assert combined_keys([one]) == keys_of(one)
