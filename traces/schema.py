"""The trace schema: one row a transaction, with the rows it touched where they are known.

A trace is a folder:

    trace.json                     what it is and where it came from
    day=2026-11-21/part-0.parquet  the transactions that began on that day (UTC)

Every Parquet file carries the schema's version in its metadata, and is read on its own: a day can
be copied, deleted or looked at with any tool that reads Parquet.
"""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 1
"""Raised with every change that an older reader would misread."""

VERSION_KEY = b"heddle.trace.schema_version"
"""Where a Parquet file's metadata has the version, as decimal digits."""

ACCESS_KINDS = ("read", "update", "insert", "delete", "scan")
"""What a transaction does to a row. A scan's key is the first of its range."""

WRITE_KINDS = ("update", "insert", "delete")
"""The kinds that leave another version of the row."""

OUTCOMES = ("committed", "rolled_back", "aborted")
"""How a transaction ended: as wished, by its own wish, or against it."""

ACCESS = pa.struct(
    [
        # Which statement of its type: from 0, in the order of the type's procedure.
        pa.field("access", pa.int16(), nullable=False),
        pa.field("table", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        # An integer key as it is; any other key as a stable hash (`traces.keys`).
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
        # Transactions of one session follow one another.
        pa.field("session", pa.int64(), nullable=False),
        # On whose behalf; two transactions of one user are not in conflict (OSDI 2021, section
        # 7.6.1). Null: not known, and the session stands for it.
        pa.field("user", pa.int64(), nullable=True),
        pa.field("type", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        # What the request carried besides, as text.
        pa.field("parameters", pa.map_(pa.string(), pa.string()), nullable=True),
        # In the order in which they were made. Null: not known.
        pa.field("accesses", pa.list_(pa.field("item", ACCESS, nullable=False)), nullable=True),
        # Null: not known.
        pa.field("outcome", pa.dictionary(pa.int8(), pa.string()), nullable=True),
    ],
    metadata={VERSION_KEY: str(SCHEMA_VERSION).encode()},
)
"""One transaction of a trace; rows of a file are in the order of `begin`."""
