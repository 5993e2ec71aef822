"""The trace schema: a row for each transaction, with the rows it accessed where these are known.

A trace is a folder:

    trace.json                     the manifest
    day=2026-11-21/part-0.parquet  the transactions that began on that day (UTC)

Each Parquet file has the schema's version in its metadata and is complete by itself: you can copy,
delete or read a day with any tool for Parquet.
"""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 1
"""Increased with each change that an older reader would misread."""

VERSION_KEY = b"heddle.trace.schema_version"
"""The key of the version in a Parquet file's metadata; the value is decimal digits."""

ACCESS_KINDS = ("read", "update", "insert", "delete", "scan")
"""The operations of accesses. The key of a scan is the first of its range."""

WRITE_KINDS = ("update", "insert", "delete")
"""The operations that write a new version of the row."""

OUTCOMES = ("committed", "rolled_back", "aborted")
"""How a transaction ended: committed, aborted by its own ROLLBACK, or aborted by the database."""

ACCESS = pa.struct(
    [
        # The statement's number in its type, from 0, in the order of the type's procedure.
        pa.field("access", pa.int16(), nullable=False),
        pa.field("table", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        # An integer key is stored unchanged, any other as a stable hash (`traces.keys`).
        pa.field("key", pa.int64(), nullable=False),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
    ]
)
"""One access of a transaction."""

TRANSACTION = pa.schema(
    [
        # Unique in the trace.
        pa.field("transaction", pa.int64(), nullable=False),
        pa.field("begin", pa.timestamp("us", tz="UTC"), nullable=False),
        # The transactions of a session run one after another.
        pa.field("session", pa.int64(), nullable=False),
        # The user of the request; two transactions of one user do not conflict (OSDI 2021, section
        # 7.6.1). Null: unknown; the session then counts as the user.
        pa.field("user", pa.int64(), nullable=True),
        pa.field("type", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        # Other parameters of the request, as text.
        pa.field("parameters", pa.map_(pa.string(), pa.string()), nullable=True),
        # In the order of execution. Null: unknown.
        pa.field("accesses", pa.list_(pa.field("item", ACCESS, nullable=False)), nullable=True),
        # Null: unknown.
        pa.field("outcome", pa.dictionary(pa.int8(), pa.string()), nullable=True),
    ],
    metadata={VERSION_KEY: str(SCHEMA_VERSION).encode()},
)
"""One transaction of a trace; the rows of a file are ordered by `begin`."""
