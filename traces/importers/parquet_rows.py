"""Streams logs in Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from traces.importers.log_rows import LogRows
from traces.importers.source_file import SourceFile

BATCH_ROWS = 1 << 15


def parquet_rows(file: SourceFile, columns: Sequence[str]) -> Iterator[LogRows]:
    """Stream columns of a Parquet file, in their own types.

    Raises:
        TraceError: the file is damaged or not Parquet, or a column is missing or nested.
    """
    before = 0
    try:
        source = pq.ParquetFile(file.raw, pre_buffer=False)
        _check(file, source.schema_arrow, columns)
        for batch in source.iter_batches(BATCH_ROWS, columns=list(columns)):
            batch.validate(full=True)
            yield LogRows(_plain(batch), _places(file.path.name, before))
            before += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        words = str(error).splitlines()[0]
        raise file.bad(f"is damaged or not Parquet: {words}") from None


def _check(file: SourceFile, schema: pa.Schema, columns: Sequence[str]) -> None:
    for column in columns:
        count = schema.names.count(column)
        if count > 1:
            raise file.bad(f"has {count} columns with the name {column}; rename one")
        if count == 0:
            raise file.bad(f"must have a column {column}; it has {', '.join(schema.names)}")
        if pa.types.is_nested(schema.field(column).type):
            raise file.bad(f"{column}: must be a plain column, not {schema.field(column).type}")


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert text to one type, of the several that writers of Parquet use."""
    return pa.RecordBatch.from_arrays(
        [_plain_column(column) for column in batch.columns], names=batch.schema.names
    )


def _plain_column(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    if pa.types.is_large_binary(column.type) or pa.types.is_binary_view(column.type):
        return column.cast(pa.binary())
    return column


def _places(name: str, before: int) -> Callable[[int], str]:
    return lambda row: f"{name}: row {before + row}"
