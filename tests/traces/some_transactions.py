"""Small traces for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from traces.manifest import Access, Manifest, Source, TransactionType
from traces.schema import ACCESS_KINDS, OUTCOMES, TRANSACTION
from traces.writer import TraceWriter

SALE = TransactionType(
    "sale", (Access(0, "read_stock", "stock", "read"), Access(1, "update_stock", "stock", "update"))
)
OTHER = TransactionType("other")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def manifest(**changed: Any) -> Manifest:
    return Manifest(**{"name": "shop", "source": Source("test"), "types": (SALE, OTHER), **changed})


def row(number: int, begin: datetime = NOON, **changed: Any) -> dict[str, Any]:
    access = {"access": 0, "table": "stock", "key": 7, "kind": "read"}
    return {
        "transaction": number,
        "begin": begin,
        "session": 1,
        "user": 2,
        "type": "sale",
        "parameters": [("product", "7")],
        "accesses": [access],
        "outcome": "committed",
        **changed,
    }


def table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=TRANSACTION)


def write(folder: Path, *tables: Sequence[dict[str, Any]], **options: Any) -> Path:
    with TraceWriter(folder, options.pop("manifest", manifest()), **options) as writer:
        for rows in tables:
            writer.write(table(rows))
    return folder


WHOLE = st.integers(-(2**63), 2**63 - 1)
TIMES = st.datetimes(datetime(1969, 12, 30), datetime(1970, 1, 3)).map(
    lambda time: time.replace(tzinfo=UTC)
)
WORDS = st.text(max_size=5)
ACCESSES = st.fixed_dictionaries(
    {
        "access": st.integers(0, 2**15 - 1),
        "table": WORDS,
        "key": WHOLE,
        "kind": st.sampled_from(ACCESS_KINDS),
    }
)


def transactions() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return a strategy for rows of any valid values, with unique ids."""
    one = st.fixed_dictionaries(
        {
            "transaction": WHOLE,
            "begin": TIMES,
            "session": WHOLE,
            "user": st.none() | WHOLE,
            "type": WORDS,
            "parameters": st.none()
            | st.dictionaries(WORDS, st.none() | WORDS, max_size=3).map(lambda d: list(d.items())),
            "accesses": st.none() | st.lists(ACCESSES, max_size=3),
            "outcome": st.none() | st.sampled_from(OUTCOMES),
        }
    )
    return st.lists(one, max_size=12, unique_by=lambda row: row["transaction"])
