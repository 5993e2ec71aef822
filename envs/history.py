"""Histories: the reads and writes of every transaction of a run, as arrays and on disk.

On disk a history is a Parquet file with one row per attempt at a transaction. `docs/checking.md`
describes the columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from envs.engine_interface import load_engine
from policies.protocol import SERIALIZABLE
from traces.atomic_file import replaced_atomically

FORMAT = "heddle-history"
SCHEMA_VERSION = 3
"""Version 1 separated names by line breaks, so that no name could contain one."""

NAMES = ("tables", "types", "reasons")
"""The attributes whose names are in the file's metadata, indexed by number."""

ENDS = ("committed", "rolled_back", "aborted")
KINDS = ("read", "miss", "write", "remove", "range", "broken")
FLAGS = {"of_range": 1, "uncommitted": 2, "inserted": 4, "own": 8}

_ATTEMPT = np.dtype(
    [
        ("worker", np.uint32),
        ("type", np.uint16),
        ("end", np.uint8),
        ("reason", np.uint8),
        ("began", np.uint64),
        ("ended", np.uint64),
        ("incarnation", np.uint64),
        ("operations", np.uint32),
        ("on_snapshot", np.uint8),
    ],
    align=True,
)
_OPERATION = np.dtype(
    [
        ("key", np.uint64),
        ("version", np.uint64),
        ("place", np.uint64),
        ("digest", np.uint32),
        ("bytes", np.uint16),
        ("table", np.uint8),
        ("kind", np.uint8),
        ("flags", np.uint8),
    ],
    align=True,
)
_NUMBERS = {
    "key": pa.uint64(),
    "version": pa.uint64(),
    "place": pa.uint64(),
    "digest": pa.uint32(),
    "bytes": pa.uint16(),
}

_COLUMNS = {
    "worker": pa.uint32(),
    "began": pa.uint64(),
    "ended": pa.uint64(),
    "incarnation": pa.uint64(),
    "on_snapshot": pa.bool_(),
}
"""The columns of attempts that hold numbers."""

FORMER_COLUMNS = {"on_snapshot": "of_the_past"}
"""The names of columns in files of the versions 1 and 2."""


class HistoryFileError(ValueError):
    """A file is no history or is damaged; the message names the file and the fault."""


@dataclass(frozen=True)
class History:
    """The reads and writes of every transaction of a run; see `engine/observe/history.h`.

    Attributes:
        attempts: structured array with one row per attempt, by worker and in order. Its fields are
            `worker`, `type`, `end` (index into `ENDS`), `reason`, `began`, `ended`, `incarnation`,
            `operations` (number of rows in the other array) and `on_snapshot` (1 for a transaction
            on a snapshot).
        operations: structured array with the operations of all attempts, in their order. Its fields
            are `key`, `version`, `place`, `digest`, `bytes`, `table`, `kind` (index into `KINDS`)
            and `flags` (sum of `FLAGS`).
        tables: names of the tables, by number.
        types: names of the transaction types, by number.
        reasons: names of the abort reasons, by number.
        first_version: versions below this number existed before the run.
    """

    attempts: np.ndarray
    operations: np.ndarray
    tables: tuple[str, ...]
    types: tuple[str, ...]
    reasons: tuple[str, ...]
    first_version: int

    @classmethod
    def from_engine(cls, history: Any) -> History:
        """Convert an `engine.History`."""
        return cls(
            history.attempts,
            history.operations,
            tuple(history.tables),
            tuple(history.types),
            tuple(history.reasons),
            history.first_version,
        )

    def check(self, isolation: str = SERIALIZABLE) -> dict[str, Any]:
        """Check whether the history satisfies an isolation level.

        Args:
            isolation: the level (`envs.anomalies.PERMITTED`).

        Returns:
            Counts, and a list `anomalies` of dictionaries with a `name` and a `text`. The history
            satisfies the level if the list is empty.

        Raises:
            ValueError: the history contradicts itself, or no level has this name.
        """
        engine = load_engine()
        return engine.History(
            self.attempts.astype(_ATTEMPT),
            self.operations.astype(_OPERATION),
            list(self.tables),
            list(self.types),
            list(self.reasons),
            self.first_version,
        ).check(isolation)

    def save(self, path: Path) -> None:
        """Write a Parquet file atomically.

        Raises:
            OSError: the file cannot be written.
        """
        with replaced_atomically(path) as temporary:
            pq.write_table(self._to_arrow(), temporary, compression="zstd")

    @classmethod
    def load(cls, path: Path) -> History:
        """Read a Parquet file that `save` wrote.

        Raises:
            HistoryFileError: the file is missing, no history, or damaged.
        """
        try:
            table = pq.read_table(path)
            return cls._from_arrow(table)
        except FileNotFoundError:
            raise HistoryFileError(f"{path}: there is no such file") from None
        except IsADirectoryError:
            raise HistoryFileError(f"{path}: is a directory; name the Parquet file") from None
        except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise HistoryFileError(f"{path}: not a history: {first}") from None

    def _to_arrow(self) -> pa.Table:
        ops, attempts = self.operations, self.attempts
        fields: dict[str, pa.Array] = {
            "kind": _named(ops["kind"], KINDS),
            "table": _named(ops["table"], self.tables),
            **{name: pa.array(ops[name], kind) for name, kind in _NUMBERS.items()},
            **{name: pa.array((ops["flags"] & bit) != 0) for name, bit in FLAGS.items()},
        }
        inner = pa.StructArray.from_arrays(list(fields.values()), list(fields))
        offsets = np.concatenate([[0], np.cumsum(attempts["operations"], dtype=np.int64)])
        columns = {
            "worker": pa.array(attempts["worker"]),
            "type": _named(attempts["type"], self.types),
            "end": _named(attempts["end"], ENDS),
            "reason": _named(attempts["reason"], self.reasons),
            "began": pa.array(attempts["began"]),
            "ended": pa.array(attempts["ended"]),
            "incarnation": pa.array(attempts["incarnation"]),
            "on_snapshot": pa.array(attempts["on_snapshot"] != 0),
            "operations": pa.LargeListArray.from_arrays(pa.array(offsets), inner),
        }
        metadata = {
            "format": FORMAT,
            "schema_version": str(SCHEMA_VERSION),
            "first_version": str(self.first_version),
            **{name: json.dumps(getattr(self, name)) for name in NAMES},
        }
        return pa.table(columns).replace_schema_metadata(metadata)

    @classmethod
    def _from_arrow(cls, table: pa.Table) -> History:
        metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
        if metadata.get("format") != FORMAT:
            raise ValueError(f"the metadata lacks format={FORMAT}")
        version = metadata["schema_version"]
        if version not in ("1", "2", str(SCHEMA_VERSION)):
            raise ValueError(
                f"schema_version is {version}; this version of Heddle reads 1 to {SCHEMA_VERSION}"
            )
        former = FORMER_COLUMNS if version in ("1", "2") else {}
        names = {
            name: tuple(
                metadata[name].split("\n") if version == "1" else _name_list(metadata[name])
            )
            for name in NAMES
        }
        for name, found in names.items():
            if len(set(found)) < len(found):
                raise ValueError(f"{name}: a name occurs twice; names must be unique")
        lists = _complete(table["operations"], "operations")
        if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
            raise ValueError(f"operations: of type {lists.type}; must be a list")
        inner = _complete(lists.flatten(), "operations")
        if not pa.types.is_struct(inner.type):
            raise ValueError(f"operations: a list of {inner.type}; must be a list of structs")
        attempts = np.zeros(table.num_rows, _ATTEMPT)
        attempts["operations"] = np.diff(lists.offsets.to_numpy())
        attempts["type"] = _numbers(table["type"], "type", names["types"])
        attempts["end"] = _numbers(table["end"], "end", ENDS)
        attempts["reason"] = _numbers(table["reason"], "reason", names["reasons"])
        for name, kind in _COLUMNS.items():
            column = former.get(name, name)
            attempts[name] = _values(table[column], column, kind)
        operations = np.zeros(len(inner), _OPERATION)
        operations["kind"] = _numbers(inner.field("kind"), "kind", KINDS)
        operations["table"] = _numbers(inner.field("table"), "table", names["tables"])
        for name, kind in _NUMBERS.items():
            operations[name] = _values(inner.field(name), name, kind)
        for name, bit in FLAGS.items():
            set_ = _values(inner.field(name), name, pa.bool_())
            operations["flags"] |= np.where(set_, np.uint8(bit), np.uint8(0))
        first_version = int(metadata["first_version"])
        if not 0 <= first_version < 1 << 64:
            raise ValueError(f"first_version is {first_version}; must be an unsigned 64-bit number")
        return cls(
            attempts,
            operations,
            names["tables"],
            names["types"],
            names["reasons"],
            first_version,
        )


def _name_list(text: str) -> list[str]:
    names = json.loads(text)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"names are {text!r:.80}; must be a JSON array of strings")
    return names


def _named(numbers: np.ndarray, names: Sequence[str]) -> pa.Array:
    indices = pa.array(numbers.astype(np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(names), pa.string()))


def _complete(column: Any, name: str) -> Any:
    """Return a column as one array; refuse null values."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if array.null_count:
        raise ValueError(f"{name}: {array.null_count:,} rows have no value")
    return array


def _values(column: Any, name: str, kind: pa.DataType) -> np.ndarray:
    """Return the numbers of a column; refuse those that do not fit the type."""
    try:
        return _complete(column, name).cast(kind).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        raise ValueError(f"{name}: {error}") from error


def _numbers(named: Any, column: str, names: Sequence[str]) -> np.ndarray:
    """Return the index into `names` of each value of a column."""
    number: Mapping[str, int] = {name: at for at, name in enumerate(names)}
    array = _complete(named, column)
    if not isinstance(array, pa.DictionaryArray):
        array = array.dictionary_encode()
    unknown = [name for name in array.dictionary.to_pylist() if name not in number]
    if unknown:
        raise ValueError(f"unknown name {unknown[0]!r}; must be one of {', '.join(names)}")
    codes = np.array([number[name] for name in array.dictionary.to_pylist()] or [0])
    return codes[array.indices.to_numpy(zero_copy_only=False)]
