"""Counts the requests of each hour by type, and measures its conflict rate.

The conflict rate is that of Wang et al., OSDI 2021, section 7.6.1: two requests conflict if they
are of different users, on the same product, within the same n minutes; the rate of n minutes is
conflicting requests ÷ requests, and an hour's is the mean over its 60 / n windows. For other
traces: two transactions conflict if they are of different users, access the same row, and at least
one of them writes it.

The paper leaves these cases open:

- A window without requests has a conflict rate of 0, and counts in the mean.
- Windows begin with the hour. Transactions of different windows do not conflict.
- If a transaction's user is unknown, its session counts as the user.
- A transaction whose accesses are unknown counts as a request, and in no conflict rate. If all of
  an hour's are unknown, the hour has no conflict rate.
- A scan is a read of its first key, because the trace records no others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from traces.schema import WRITE_KINDS
from traces.statistics.windows import WINDOW_MINUTES, WINDOWS_MINUTES
from traces.trace_files import start_of

HOURS = 24

MEMORY_LIMIT = "2GB"
"""The memory limit of a day's query; DuckDB spills the rest to a temporary folder."""

REQUESTS = """
SELECT (epoch_us("begin") - $midnight) // $window AS span, type, count(*), count(accesses)
FROM read_parquet($files, hive_partitioning = false)
WHERE $types IS NULL OR list_contains($types, type)
GROUP BY ALL ORDER BY ALL
"""

# A row has two distinct users if and only if the least differs from the greatest. A user's number
# may equal a session's, so anonymous transactions are distinguished.
CONFLICTING = f"""
WITH request AS (
    SELECT
        transaction,
        (epoch_us("begin") - $midnight) // $window AS span,
        coalesce("user", session) AS who,
        "user" IS NULL AS anonymous,
        unnest(accesses) AS access
    FROM read_parquet($files, hive_partitioning = false)
    WHERE $types IS NULL OR list_contains($types, type)
),

access AS (
    SELECT
        transaction, span, who, anonymous,
        access."table" AS "table",
        access.key AS key,
        access.kind IN {WRITE_KINDS} AS writes
    FROM request
),

shared AS (
    SELECT
        span, "table", key,
        min(who) FILTER (writes) AS least_writer,
        max(who) FILTER (writes) AS greatest_writer,
        -- A session can have the number of a user.
        bool_and(anonymous) FILTER (writes) AS no_writer_known,
        bool_or(anonymous) FILTER (writes) AS a_writer_unknown
    FROM access
    GROUP BY ALL
    HAVING bool_or(writes)
        AND (min(who) <> max(who) OR bool_and(anonymous) <> bool_or(anonymous))
)

SELECT span, count(DISTINCT transaction)
FROM access JOIN shared USING (span, "table", key)
WHERE writes
    OR least_writer <> who OR greatest_writer <> who
    OR no_writer_known <> anonymous OR a_writer_unknown <> anonymous
GROUP BY span ORDER BY span
"""


@dataclass(frozen=True)
class Hour:
    """One hour of a trace.

    Attributes:
        begin: start of the hour (UTC).
        requests: transactions that began in it, by type; types without any are omitted.
        conflict_rate: mean over the hour's windows, 0 to 1; None if no accesses are known.
    """

    begin: datetime
    requests: Mapping[str, int]
    conflict_rate: float | None

    @property
    def total(self) -> int:
        """The number of requests of all types."""
        return sum(self.requests.values())


class OtherDayError(ValueError):
    """A day's files contain transactions of another day."""


class HourCounter:
    """Counts the hours of one day at a time, in bounded memory.

    Args:
        window_minutes: one of `WINDOWS_MINUTES`.
        types: the transaction types that count; None: all. The paper excludes read-only requests.
        threads: the number of threads; None: one for each core that this process may use.
    """

    def __init__(
        self,
        window_minutes: int = WINDOW_MINUTES,
        types: Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        import duckdb  # slow to load, and few commands come here

        if window_minutes not in WINDOWS_MINUTES:
            raise ValueError(f"window_minutes={window_minutes}: must divide 60")
        self._minutes = window_minutes
        self._types = None if types is None else list(types)
        self._overflow = TemporaryDirectory(prefix="heddle-trace-")
        self._database = duckdb.connect(
            config={
                "temp_directory": self._overflow.name,
                "threads": threads or len(os.sched_getaffinity(0)),
                "memory_limit": MEMORY_LIMIT,
                "preserve_insertion_order": False,
                # DuckDB must not download extensions.
                "autoinstall_known_extensions": False,
            }
        )

    def count(self, day: date, files: Sequence[Path]) -> tuple[Hour, ...]:
        """Return the 24 hours of a day.

        Args:
            day: the date (UTC).
            files: all files of the day, of the schema `traces.schema.TRANSACTION`; may be empty.

        Raises:
            OtherDayError: a file contains transactions of another day.
            duckdb.Error: a file can't be read.
        """
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        windows = HOURS * 60 // self._minutes
        requests: list[dict[str, int]] = [{} for _ in range(HOURS)]
        known = [0] * windows
        conflicting = [0] * windows
        for at, kind, total, with_accesses in self._rows(REQUESTS, day, files):
            if not 0 <= at < windows:
                raise OtherDayError(f"{files[0].parent}: has transactions that are not of {day}")
            of_hour = requests[at * self._minutes // 60]
            of_hour[kind] = of_hour.get(kind, 0) + total
            known[at] += with_accesses
        if any(known):
            for at, total in self._rows(CONFLICTING, day, files):
                conflicting[at] = total
        per_hour = 60 // self._minutes
        return tuple(
            Hour(
                midnight + timedelta(hours=hour),
                dict(sorted(requests[hour].items())),
                _mean_rate(
                    known[hour * per_hour : (hour + 1) * per_hour],
                    conflicting[hour * per_hour : (hour + 1) * per_hour],
                ),
            )
            for hour in range(HOURS)
        )

    def close(self) -> None:
        """Close the database."""
        self._database.close()
        self._overflow.cleanup()

    def __enter__(self) -> HourCounter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, query: str, day: date, files: Sequence[Path]) -> list[tuple]:
        if not files:
            return []
        import duckdb

        values = {
            "files": [str(file) for file in files],
            "midnight": start_of(day),
            "window": self._minutes * 60 * 1_000_000,
            "types": self._types,
        }
        try:
            return self._database.execute(query, values).fetchall()
        except (duckdb.InterruptException, RuntimeError) as error:
            # DuckDB raises this on Ctrl-C.
            if "interrupted" in str(error).lower():
                raise KeyboardInterrupt from None
            raise


def _mean_rate(known: Sequence[int], conflicting: Sequence[int]) -> float | None:
    if not any(known):
        return None
    rates = [c / k if k else 0.0 for k, c in zip(known, conflicting, strict=True)]
    return sum(rates) / len(rates)
