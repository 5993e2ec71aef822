"""Histories: what every transaction of a run read and wrote, as arrays and on disk.

On disk a history is one Parquet file with a row for each attempt at a transaction; the columns are
in `docs/checking.md`.
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
from traces.atomic_file import replaced_atomically

FORMAT = "heddle-history"
SCHEMA_VERSION = 2
"""In version 1 names had a line each, so that none could hold a line break."""

NAMES = ("tables", "types", "reasons")
"""What is numbered, and has its names in the file's metadata."""

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
        ("of_the_past", np.uint8),
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
    "of_the_past": pa.bool_(),
}
"""Of attempts, but for those that are names."""


class HistoryFileError(ValueError):
    """A file that is no history, or a damaged one; the message names it and says what is wrong."""


@dataclass(frozen=True)
class History:
    """What every transaction of a run read and wrote; see `engine/check/history.h`.

    Attributes:
        attempts: a structured array, a row an attempt, by worker and in order: `worker`, `type`,
            `end` (index of `ENDS`), `reason`, `began`, `ended`, `incarnation`, `operations` (how
            many of the other array are its own), `of_the_past`.
        operations: the attempts' operations, one after the other: `key`, `version`, `place`,
            `digest`, `bytes`, `table`, `kind` (index of `KINDS`), `flags` (`FLAGS`).
        tables: names, by number.
        types: of transactions, likewise.
        reasons: why attempts are aborted, likewise.
        first_version: versions below it were there before the run.
    """

    attempts: np.ndarray
    operations: np.ndarray
    tables: tuple[str, ...]
    types: tuple[str, ...]
    reasons: tuple[str, ...]
    first_version: int

    @classmethod
    def from_engine(cls, history: Any) -> History:
        """From the engine's own."""
        return cls(
            history.attempts,
            history.operations,
            tuple(history.tables),
            tuple(history.types),
            tuple(history.reasons),
            history.first_version,
        )

    def check(self) -> dict[str, Any]:
        """Whether it could have been made by one transaction after the other.

        Returns:
            Counts, and `anomalies`, each with a `name` and a `text`; none: it is serializable.

        Raises:
            ValueError: it contradicts itself.
        """
        engine = load_engine()
        return engine.History(
            self.attempts.astype(_ATTEMPT),
            self.operations.astype(_OPERATION),
            list(self.tables),
            list(self.types),
            list(self.reasons),
            self.first_version,
        ).check()

    def save(self, path: Path) -> None:
        """Write a Parquet file, at once or not at all.

        Raises:
            OSError: it can't be written.
        """
        with replaced_atomically(path) as beside:
            pq.write_table(self._to_arrow(), beside, compression="zstd")

    @classmethod
    def load(cls, path: Path) -> History:
        """Read what `save` wrote.

        Raises:
            HistoryFileError: it is not there, no history, or damaged.
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
            raise HistoryFileError(f"{path}: is not a history: {first}") from None

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
            "of_the_past": pa.array(attempts["of_the_past"] != 0),
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
            raise ValueError(f"its metadata has no format={FORMAT}")
        version = metadata["schema_version"]
        if version not in ("1", str(SCHEMA_VERSION)):
            raise ValueError(
                f"its schema_version is {version}, this Heddle reads 1 and {SCHEMA_VERSION}"
            )
        names = {
            name: tuple(
                metadata[name].split("\n") if version == "1" else _name_list(metadata[name])
            )
            for name in NAMES
        }
        for name, found in names.items():
            if len(set(found)) < len(found):
                raise ValueError(f"its {name} have a name twice")
        lists = _complete(table["operations"], "operations")
        if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
            raise ValueError(f"operations: is of type {lists.type}; must be a list")
        inner = _complete(lists.flatten(), "operations")
        if not pa.types.is_struct(inner.type):
            raise ValueError(f"operations: is a list of {inner.type}; must be one of structs")
        attempts = np.zeros(table.num_rows, _ATTEMPT)
        attempts["operations"] = np.diff(lists.offsets.to_numpy())
        attempts["type"] = _numbers(table["type"], "type", names["types"])
        attempts["end"] = _numbers(table["end"], "end", ENDS)
        attempts["reason"] = _numbers(table["reason"], "reason", names["reasons"])
        for name, kind in _COLUMNS.items():
            attempts[name] = _values(table[name], name, kind)
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
            raise ValueError(f"its first_version is {first_version}; must be 64 bits")
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
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise ValueError(f"its names are {text!r:.80}; they must be a JSON array of strings")
    return names


def _named(numbers: np.ndarray, names: Sequence[str]) -> pa.Array:
    indices = pa.array(numbers.astype(np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(names), pa.string()))


def _complete(column: Any, name: str) -> Any:
    """A column in one piece, without a row that has no value."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if array.null_count:
        raise ValueError(f"{name}: {array.null_count:,} rows have no value")
    return array


def _values(column: Any, name: str, kind: pa.DataType) -> np.ndarray:
    """Numbers of a column, none of which the type would change."""
    try:
        return _complete(column, name).cast(kind).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        raise ValueError(f"{name}: {error}") from error


def _numbers(named: Any, column: str, names: Sequence[str]) -> np.ndarray:
    """Names as numbers again, whatever order the file has them in."""
    number: Mapping[str, int] = {name: at for at, name in enumerate(names)}
    array = _complete(named, column)
    if not isinstance(array, pa.DictionaryArray):
        array = array.dictionary_encode()
    unknown = [name for name in array.dictionary.to_pylist() if name not in number]
    if unknown:
        raise ValueError(f"unknown name {unknown[0]!r}; known are {', '.join(names)}")
    codes = np.array([number[name] for name in array.dictionary.to_pylist()] or [0])
    return codes[array.indices.to_numpy(zero_copy_only=False)]
