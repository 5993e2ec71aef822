"""Builds columns of the trace schema from arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from traces.manifest import TransactionType
from traces.schema import ACCESS, ACCESS_KINDS, TRANSACTION


def transaction_table(columns: Mapping[str, pa.Array | np.ndarray]) -> pa.Table:
    """Return a table of the schema; missing columns are null."""
    rows = len(columns["transaction"])
    return pa.table(
        [
            pa.array(columns[field.name], field.type)
            if isinstance(columns.get(field.name), np.ndarray)
            else columns.get(field.name, pa.nulls(rows, field.type))
            for field in TRANSACTION
        ],
        schema=TRANSACTION,
    )


def words_column(numbers: np.ndarray, words: Sequence[str], field: str) -> pa.Array:
    """Return a column of words, such as `type`, from their indices in `words`."""
    indices = pa.array(numbers, TRANSACTION.field(field).type.index_type)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))


def parameters_column(parameters: Mapping[str, pa.Array]) -> pa.Array:
    """Return the column `parameters`, in which each transaction has all of them.

    Args:
        parameters: arrays of text by name.
    """
    rows = len(next(iter(parameters.values())))
    count = len(parameters)
    order = np.arange(rows * count).reshape(count, rows).T.ravel()
    names = pa.DictionaryArray.from_arrays(
        pa.array(np.tile(np.arange(count, dtype=np.int8), rows)), pa.array(list(parameters))
    )
    values = pa.concat_arrays([pa.array(texts, pa.string()) for texts in parameters.values()])
    return pa.MapArray.from_arrays(
        pa.array(np.arange(rows + 1) * count, pa.int32()),
        names.cast(pa.string()),
        values.take(pa.array(order)),
    )


def access_lists(
    offsets: np.ndarray,
    access: np.ndarray,
    table: tuple[np.ndarray, Sequence[str]],
    key: np.ndarray,
    kind: np.ndarray,
) -> pa.Array:
    """Return the column `accesses`.

    Args:
        offsets: the start of each transaction's accesses in the following arrays, and the end.
        access: the access ids.
        table: the tables as numbers, and the words for them.
        key: the keys.
        kind: the kinds as indices in `ACCESS_KINDS`.
    """
    numbers, words = table
    items = pa.StructArray.from_arrays(
        [
            pa.array(access, pa.int16()),
            pa.DictionaryArray.from_arrays(
                pa.array(numbers, pa.int16()), pa.array(words, pa.string())
            ),
            pa.array(key, pa.int64()),
            pa.DictionaryArray.from_arrays(pa.array(kind, pa.int8()), pa.array(ACCESS_KINDS)),
        ],
        fields=list(ACCESS),
    )
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), items, type=TRANSACTION.field("accesses").type
    )


def fixed_access_lists(
    types: Sequence[TransactionType], numbers: np.ndarray, keys: Mapping[str, np.ndarray]
) -> pa.Array:
    """Return the column `accesses` for types that make each of their accesses once.

    Args:
        types: the types with their accesses.
        numbers: the types of the transactions, as indices in `types`.
        keys: by table, the key that each transaction accesses there.
    """
    tables = list(keys)
    counts = np.array([len(type_.accesses) for type_ in types])
    offsets = np.concatenate([[0], np.cumsum(counts[numbers])])
    access, table, kind = (np.zeros(offsets[-1], dtype) for dtype in (np.int16, np.int16, np.int8))
    key = np.zeros(offsets[-1], np.int64)
    for number, type_ in enumerate(types):
        rows = np.flatnonzero(numbers == number)
        for made in type_.accesses:
            places = offsets[rows] + made.access
            access[places] = made.access
            table[places] = tables.index(made.table)
            key[places] = keys[made.table][rows]
            kind[places] = ACCESS_KINDS.index(made.kind)
    return access_lists(offsets, access, (table, tables), key, kind)
