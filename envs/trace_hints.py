"""Convert hints to and from a trace's column `parameters` (SMF, VLDB 2024, section 4.1.1).

A hint is a parameter that names an access and the key of its row. For an access in a loop the
parameter holds the keys of all iterations, separated by commas.
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
"""The separator of the keys of a loop."""


@dataclass(frozen=True)
class Hints:
    """The hints of transactions, one transaction after the other.

    Attributes:
        counts: number of hints of each transaction.
        states: state of each hint.
        keys: key of each hint, unsigned.
    """

    counts: np.ndarray
    states: np.ndarray
    keys: np.ndarray


def hints_column(
    counts: np.ndarray, states: np.ndarray, keys: np.ndarray, signature: Signature
) -> pa.Array:
    """Return the column `parameters` for the hints of transactions.

    Args:
        counts: number of hints of each transaction.
        states: state of each hint, one transaction after the other.
        keys: key of each hint, in the same order.
        signature: signature of the workload.
    """
    transactions = np.repeat(np.arange(len(counts)), counts)
    pairs = transactions * signature.state_count + states
    _, came_first, pair = np.unique(pairs, return_index=True, return_inverse=True)
    # All keys of a parameter move to the position of the first one.
    order = np.argsort(came_first[pair], kind="stable")
    transactions, states, keys = transactions[order], states[order], keys[order]
    first = np.flatnonzero(np.diff(pairs[order], prepend=-1))
    texts = pa.array(keys.astype(np.uint64)).cast(pa.string())
    lists = pa.ListArray.from_arrays(pa.array(np.append(first, len(states)), pa.int32()), texts)
    names = pa.array([access.name for access in signature.accesses]).take(pa.array(states[first]))
    parameters = np.bincount(transactions[first], minlength=len(counts))
    return pa.MapArray.from_arrays(
        pa.array(np.concatenate([[0], np.cumsum(parameters)]), pa.int32()),
        names,
        pc.binary_join(lists, BETWEEN),
        type=TRANSACTION.field("parameters").type,
    )


def hints_of(column: pa.MapArray, types: np.ndarray, signature: Signature) -> Hints:
    """Return the hints of a trace's transactions, ignoring parameters that name no access.

    Args:
        column: the column `parameters`.
        types: index of each transaction's type in the signature; larger ones have no hints.
        signature: signature of the workload.

    Raises:
        TraceError: a parameter that names an access is no key.
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
            f"a parameter that names an access of its type holds no key, an integer from 0: {error}"
        ) from None
    of = np.repeat(transactions[ours], each)
    return Hints(
        np.bincount(of, minlength=len(column)).astype(np.uint32),
        np.repeat(states[ours], each).astype(np.uint32),
        keys,
    )


def _states(names: pa.DictionaryArray, types: np.ndarray, signature: Signature) -> np.ndarray:
    """Return the state that each parameter names, -1 for none."""
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
