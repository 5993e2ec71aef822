"""Imports any log with a row for each access; a mapping assigns its columns."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traces.errors import TraceError
from traces.importers.access_log_mapping import Word, load_mapping
from traces.importers.base import NAMED_MAX, Format, LeftOut
from traces.importers.columns import (
    access_lists,
    parameters_column,
    transaction_table,
    words_column,
)
from traces.importers.csv_rows import csv_rows
from traces.importers.file_importer import FileImporter
from traces.importers.grouping import Grouping, Groups
from traces.importers.jsonl_rows import jsonl_rows
from traces.importers.key_columns import key_column, number_column, pointed
from traces.importers.log_clock import SKIPPED, TWICE, LogClock
from traces.importers.log_rows import LogRows, as_text, mask_of, not_empty
from traces.importers.overlap import REPEATED, Overlap
from traces.importers.packing import unpacked_suffix
from traces.importers.parquet_rows import parquet_rows
from traces.importers.source_file import SourceFile
from traces.importers.statements import Statements
from traces.importers.type_folding import TypeFolding, many_types_hint
from traces.importers.words import Words
from traces.keys import combined_keys
from traces.manifest import TransactionType
from traces.schema import ACCESS_KINDS, OUTCOMES
from traces.trace_files import FIRST_US, LAST_US

SUFFIXES = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}


TIME_COLUMN = "\0time"
"""A column added to the log: the time of the access, in microseconds since 1970 (UTC)."""

POINTED = "text of a whole number with a point, such as 7.0: as the number (numbers:)"

_KEY_OF = "\0key of "
"""The prefix of a column that holds another column's values as keys."""


class AccessLogImporter(FileImporter):
    """Converts the rows of a log into transactions, as a mapping defines.

    Args:
        sources: CSV, JSONL or Parquet files, in the order of time.
        left_out: counts rows that do not become transactions.
        mapping: the mapping's file.
        fold_types: see `traces.importers.type_folding.TypeFolding`.

    Raises:
        TraceError: the mapping is invalid, there is no source, or one can't be read.
    """

    def __init__(
        self,
        sources: tuple[Path, ...],
        left_out: LeftOut,
        mapping: Path | None = None,
        fold_types: Sequence[str] = (),
    ) -> None:
        if mapping is None:
            raise TraceError("--mapping: access-log needs the file that assigns the log's columns")
        super().__init__(sources, left_out, "the files of the log")
        self._mapping = load_mapping(mapping)
        for path in sources:
            self._log_of(path)
        self._grouping = Grouping(round(self._mapping.gap_ms * 1000))
        self._clock = LogClock(self._grouping.late_us)
        self._overlap = Overlap(self._grouping.late_us)
        self._folding = TypeFolding(fold_types)
        self._types = Words("type", cure="name a column with fewer values, or give --fold-types")
        self._tables = Words("table")
        self._statement_names, self._statements = Words("statement"), Statements()
        self._made = 0

    def types(self) -> tuple[TransactionType, ...]:
        """The types that occurred, with their accesses in the order of occurrence."""
        return self._statements.types(
            self._types.words, self._statement_names.words, self._tables.words
        )

    def tables(self) -> Generator[pa.Table, None, None]:
        """Yield transactions as they become complete."""
        for file in self.files():
            self._overlap.next_file()
            for rows in self._rows(file):
                yield self._table(self._grouping.add(self._new(self._usable(rows))))
        rest = self._grouping.finish()
        if rest is not None:
            yield self._table(rest)

    def _log_of(self, path: Path) -> str:
        log = self._mapping.log or SUFFIXES.get(unpacked_suffix(path))
        if log is None:
            raise TraceError(
                f"{path}: its name does not tell the format; end it in {', '.join(SUFFIXES)}, or "
                "set log: in the mapping"
            )
        return log

    def _rows(self, file: SourceFile) -> Iterator[LogRows]:
        columns, log = self._mapping.columns, self._log_of(file.path)
        if log == "csv":
            return csv_rows(file, columns, self.left_out, self._mapping.delimiter)
        if log == "jsonl":
            return jsonl_rows(file, columns, self.left_out)
        return parquet_rows(file, columns)

    def _with_keys(self, rows: LogRows) -> LogRows:
        """Add a column of keys for each column that holds keys."""
        batch, mapping = rows.batch, self._mapping
        columns, names = batch.columns, batch.schema.names
        for column in mapping.keys:
            made = key_column(batch[column], mapping.no_value)
            if column in mapping.numbers:
                made = number_column(made)
            else:
                self._guess_pointed(rows, column)
            columns, names = [*columns, made], [*names, f"{_KEY_OF}{column}"]
        return LogRows(pa.RecordBatch.from_arrays(columns, names=names), rows.place)

    def _guess_pointed(self, rows: LogRows, column: str) -> None:
        """Count texts such as `7.0`, which programs write for numbers."""
        which = np.flatnonzero(pointed(rows.batch[column]))
        examples = [
            f"{rows.place(row)}: {column} is {as_text(rows.batch[column])[row].as_py()}"
            for row in which[:NAMED_MAX].tolist()
        ]
        self.left_out.guess(POINTED, len(which), examples)

    def _numbers_only(self, rows: LogRows, column: str) -> LogRows:
        empty = ~not_empty(key_column(rows.batch[column], self._mapping.no_value))
        good = not_empty(rows.batch[f"{_KEY_OF}{column}"]) | empty
        return rows.require(good, column, "no number", self.left_out)

    def _usable(self, rows: LogRows) -> LogRows:
        """Return the rows that have all values they need."""
        rows = self._with_keys(rows)
        mapping = self._mapping
        several = {
            "session": mapping.session,
            "transaction": mapping.transaction,
            "key": mapping.key,
        }
        for what, columns in several.items():
            for column in columns:
                if column in mapping.numbers:
                    rows = self._numbers_only(rows, column)
                there = not_empty(rows.batch[f"{_KEY_OF}{column}"])
                rows = rows.require(there, column, f"no {what}", self.left_out)
        for what, word in (("type", mapping.type), ("table", mapping.table)):
            if word and word.column:
                known = not_empty(_meanings(rows.batch, word))
                rows = rows.require(known, word.column, f"no {what}, or unknown", self.left_out)
        if mapping.kind and mapping.kind.column:
            known = mask_of(_meanings(rows.batch, mapping.kind).is_valid())
            rows = rows.require(known, mapping.kind.column, "kind is unknown", self.left_out)
        if mapping.outcome and mapping.outcome.column:
            known = mask_of(_meanings(rows.batch, mapping.outcome).is_valid())
            known |= ~not_empty(rows.batch[mapping.outcome.column])
            rows = rows.require(known, mapping.outcome.column, "outcome is unknown", self.left_out)
        return self._in_time(rows)

    def _in_time(self, rows: LogRows) -> LogRows:
        """Return the rows that are not too late, with a column of their times."""
        column = self._mapping.time
        times = self._mapping.time_form.parse(rows.batch[column])
        fits = pc.and_(
            pc.greater_equal(pc.min_element_wise(times.first, times.second), FIRST_US),
            pc.less(pc.max_element_wise(times.first, times.second), LAST_US),
        )
        good = mask_of(fits)
        rows = rows.require(good, column, "time is no time", self.left_out)
        first, second = (
            candidates.filter(pa.array(good)).to_numpy()
            for candidates in (times.first, times.second)
        )
        resolved = self._clock.resolve(first, second)
        rows.guess(resolved.twice, column, TWICE, self.left_out)
        rows.guess(resolved.skipped, column, SKIPPED, self.left_out)
        rows = rows.with_column(TIME_COLUMN, pa.array(resolved.us))
        if self._grouping.earliest is None:
            return rows
        late = resolved.us < self._grouping.earliest
        return rows.require(~late, column, "comes too late: sort the log by time", self.left_out)

    def _new(self, rows: LogRows) -> pa.Table:
        """Return the rows that no earlier file has, with words and numbers."""
        normal = self._normal(rows)
        repeated = self._overlap.repeated(normal)
        if repeated.any():
            rows.require(~repeated, self._mapping.time, REPEATED, self.left_out)
            normal = normal.filter(pa.array(~repeated))
        return normal

    def _normal(self, rows: LogRows) -> pa.Table:
        """Return the rows with words and numbers that are valid for the whole log."""
        mapping, batch = self._mapping, rows.batch
        columns: dict[str, Any] = {
            "time": batch[TIME_COLUMN],
            "session": _keys(batch, mapping.session),
            "type": self._types.numbers(self._folding.fold(_meanings(batch, mapping.type))),
        }
        columns["group"] = (
            _keys(batch, mapping.transaction) if mapping.transaction else columns["session"]
        )
        if mapping.user:
            columns["user"] = _keys(batch, mapping.user)
        if mapping.outcome:
            columns["outcome"] = pc.index_in(_meanings(batch, mapping.outcome), pa.array(OUTCOMES))
        if mapping.table and mapping.kind:
            columns["table"] = self._tables.numbers(_meanings(batch, mapping.table))
            columns["kind"] = pc.index_in(_meanings(batch, mapping.kind), pa.array(ACCESS_KINDS))
            columns["key"] = _keys(batch, mapping.key)
        if mapping.statement:
            names = as_text(batch[mapping.statement]).fill_null("")
            columns["statement"] = self._statement_names.numbers(names)
        for name in mapping.parameters:
            columns[f"parameter {name}"] = as_text(batch[name])
        return pa.table(columns)

    def _table(self, groups: Groups) -> pa.Table:
        """Build transactions from their rows; the first row provides what they share."""
        mapping = self._mapping
        rows = groups.rows.combine_chunks()
        first = rows.take(pa.array(groups.starts))
        ids = np.arange(self._made, self._made + len(groups.starts))
        self._made += len(ids)
        columns = {
            "transaction": ids,
            "begin": first["time"].cast(pa.timestamp("us", "UTC")),
            "session": first["session"],
            "type": words_column(first["type"].to_numpy(), self._types.words, "type"),
        }
        if mapping.user:
            columns["user"] = first["user"]
        if mapping.parameters:
            columns["parameters"] = parameters_column(
                {name: first[f"parameter {name}"].combine_chunks() for name in mapping.parameters}
            )
        if mapping.table:
            columns["accesses"] = self._accesses(rows, first["type"].to_numpy(), groups)
        if mapping.outcome:
            last = rows["outcome"].take(pa.array(groups.starts + groups.lengths - 1))
            words = pa.array(OUTCOMES)
            columns["outcome"] = pa.DictionaryArray.from_arrays(
                last.combine_chunks().cast(pa.int8()), words
            )
        return transaction_table(columns)

    def _accesses(self, rows: pa.Table, types: np.ndarray, groups: Groups) -> pa.Array:
        table, kind = rows["table"].to_numpy(), rows["kind"].to_numpy()
        named = "statement" in rows.schema.names
        access = self._statements.numbers(
            np.repeat(types, groups.lengths),
            rows["statement"].to_numpy() if named else np.zeros_like(table),
            table,
            kind,
        )
        return access_lists(
            np.append(groups.starts, rows.num_rows),
            access,
            (table, self._tables.words),
            rows["key"].to_numpy(),
            kind,
        )


def _keys(batch: pa.RecordBatch, columns: tuple[str, ...]) -> pa.Array:
    return combined_keys([_blank_is_null(batch[f"{_KEY_OF}{column}"]) for column in columns])


def _blank_is_null(column: pa.Array) -> pa.Array:
    return pc.if_else(pa.array(not_empty(column)), column, None)


def _meanings(batch: pa.RecordBatch, word: Word) -> pa.Array:
    """Return the meanings of a column's words; null for unknown words."""
    if word.column is None:
        return pa.array([word.value] * batch.num_rows, pa.string())
    text = as_text(batch[word.column])
    if not word.words:
        return text
    number = pc.index_in(pc.utf8_lower(text), pa.array(list(word.words)))
    return pa.array(list(word.words.values())).take(number)


ACCESS_LOG = Format(
    "any CSV, JSONL or Parquet log with a row for each access; a mapping assigns its columns",
    AccessLogImporter,
    (
        click.Option(
            ["--mapping"],
            type=click.Path(path_type=Path),
            help="Read the assignment of columns from this YAML file.",
        ),
        click.Option(
            ["--fold-types"],
            multiple=True,
            metavar="REGEX",
            help="Merge types that differ only in what this matches.",
        ),
    ),
    many_types_hint,
)
