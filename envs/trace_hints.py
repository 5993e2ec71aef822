"""What transactions pass before they begin, as a trace has it: in the column `parameters`.

A parameter is called as the access whose row it names, and its text is the row's key; of an access
in a loop the keys of all rounds, with commas between them (SMF, VLDB 2024, section 4.1.1: hints).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from policies import Signature
from traces.errors import TraceError
from traces.schema import TRANSACTION

BETWEEN = ","
"""What stands between the keys of a loop."""


@dataclass(frozen=True)
class Hints:
    """What some transactions pass: of the i-th, the next `counts[i]` hints.

    Attributes:
        counts: one a transaction.
        states: of each hint, which row it names.
        keys: of the row, unsigned.
    """

    counts: np.ndarray
    states: np.ndarray
    keys: np.ndarray


def hints_column(
    counts: np.ndarray, states: np.ndarray, keys: np.ndarray, signature: Signature
) -> pa.Array:
    """The column `parameters` of transactions that pass so many hints each.

    Args:
        counts: one a transaction.
        states: of all hints, one transaction's after the other's.
        keys: likewise.
        signature: of the workload.
    """
    transactions = np.repeat(np.arange(len(counts)), counts)
    pairs = transactions * signature.state_count + states
    _, came_first, pair = np.unique(pairs, return_index=True, return_inverse=True)
    # A parameter's keys are together, where the first of them stood.
    order = np.argsort(came_first[pair], kind="stable")
    transactions, states, keys = transactions[order], states[order], keys[order]
    first = np.flatnonzero(np.diff(pairs[order], prepend=-1))
    texts = pa.array(keys.astype(np.uint64)).cast(pa.string())
    lists = pa.ListArray.from_arrays(pa.array(np.append(first, len(states)), pa.int32()), texts)
    names = pa.array([one.name for one in signature.accesses]).take(pa.array(states[first]))
    parameters = np.bincount(transactions[first], minlength=len(counts))
    return pa.MapArray.from_arrays(
        pa.array(np.concatenate([[0], np.cumsum(parameters)]), pa.int32()),
        names,
        pc.binary_join(lists, BETWEEN),
        type=TRANSACTION.field("parameters").type,
    )


def hints_of(column: pa.MapArray, types: np.ndarray, signature: Signature) -> Hints:
    """What a trace's transactions pass; parameters that name no access of their type are others.

    Args:
        column: `parameters`.
        types: of each transaction, its place in the signature; beyond it: it passes nothing.
        signature: of the workload.

    Raises:
        TraceError: a parameter that is called as an access is no key.
    """
    offsets = column.offsets.to_numpy()
    transactions = np.repeat(np.arange(len(column)), np.diff(offsets))
    names = column.keys[offsets[0] : offsets[-1]].dictionary_encode()
    texts = column.items[offsets[0] : offsets[-1]]
    states = _states(names, types[transactions], signature)
    ours = np.flatnonzero(states >= 0)
    lists = pc.split_pattern(texts.take(pa.array(ours)), BETWEEN)
    each = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    try:
        keys = lists.flatten().cast(pa.uint64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise TraceError(
            "a parameter that is called as an access of its type holds no key, an integer from 0: "
            f"{error}"
        ) from None
    of = np.repeat(transactions[ours], each)
    return Hints(
        np.bincount(of, minlength=len(column)).astype(np.uint32),
        np.repeat(states[ours], each).astype(np.uint32),
        keys,
    )


def _states(names: pa.DictionaryArray, types: np.ndarray, signature: Signature) -> np.ndarray:
    """The states that parameters name; -1: none."""
    numbers = {
        (place, access.name): access.state
        for place, kind in enumerate(signature.types)
        for access in kind.accesses
    }
    words = names.dictionary.to_pylist()
    by_type = np.array(
        [
            [numbers.get((place, word), -1) for word in words]
            for place in range(len(signature.types) + 1)
        ]
    ).reshape(len(signature.types) + 1, len(words))
    place = np.minimum(types, len(signature.types))
    return by_type[place, names.indices.to_numpy(zero_copy_only=False)]
