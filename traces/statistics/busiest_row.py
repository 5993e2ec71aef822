"""Finds the row that most transactions write, which limits concurrency."""

from __future__ import annotations

from dataclasses import dataclass

from traces.errors import TraceError
from traces.reader import Trace
from traces.replay.likeness import MEMORY_LIMIT
from traces.replay.part import Part
from traces.schema import WRITE_KINDS

QUERY = f"""
WITH part AS (
    SELECT transaction, accesses FROM read_parquet($files, hive_partitioning = false)
    WHERE epoch_us("begin") >= $first AND epoch_us("begin") < $end
),

written AS (
    SELECT transaction, unnest(accesses) AS access FROM part
)

SELECT access."table", count(DISTINCT transaction)::BIGINT AS writers,
    (SELECT count(*) FROM part)::BIGINT
FROM written WHERE access.kind IN {WRITE_KINDS}
GROUP BY access."table", access.key ORDER BY writers DESC, access."table", access.key LIMIT 1
"""


@dataclass(frozen=True)
class BusiestRow:
    """A row and its writers.

    Attributes:
        table: the row's table.
        share: share of all transactions that write it, 0 to 1.
    """

    table: str
    share: float


def busiest_row(trace: Trace, part: Part) -> BusiestRow | None:
    """Return the row that most transactions of a part write; None if none is written.

    Raises:
        TraceError: the trace is damaged.
    """
    import duckdb  # slow to load, and few commands come here

    files = [str(path) for day in part.days for path in trace.files(day)]
    given = {"files": files, "first": part.first_us, "end": part.end_us}
    try:
        with duckdb.connect(config={"memory_limit": MEMORY_LIMIT}) as database:
            found = database.execute(QUERY, given).fetchone()
    except duckdb.Error as error:
        raise TraceError(f"{trace.folder}: can't be measured: {error}") from None
    if found is None:
        return None
    table, writers, transactions = found
    return BusiestRow(str(table), writers / transactions)
