"""Compares a part of a trace with its replay.

A replay can differ from the load that was logged ("inaccurate workload emulation": Wang et al.,
OSDI 2021, section 9). The trace is measured by queries over its files, and the replay by counting
in the program's arrays; the two share no code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from traces.errors import TraceError
from traces.output import counts_table
from traces.reader import Trace
from traces.replay.part import Part
from traces.replay.program import Program
from traces.schema import WRITE_KINDS
from traces.spelling import visible

MEMORY_LIMIT = "2GB"
"""The memory limit of a query; DuckDB spills the rest to a temporary folder."""

MIX = """
SELECT type, count(*) FROM read_parquet($files, hive_partitioning = false)
WHERE epoch_us("begin") >= $first AND epoch_us("begin") < $end GROUP BY ALL
"""

EXAMPLE_RATE = 10_000
"""Arrivals per second that occupy a core or two."""

WINDOW_US = 5 * 60_000_000
"""The paper's n = 5 minutes."""

REQUESTS = """
SELECT (epoch_us("begin") - $first) // $window, count(*)
FROM read_parquet($files, hive_partitioning = false)
WHERE epoch_us("begin") >= $first AND epoch_us("begin") < $end GROUP BY ALL
"""

CONFLICTING = f"""
WITH access AS (
    SELECT transaction, session, (epoch_us("begin") - $first) // $window AS span,
        unnest(accesses) AS access
    FROM read_parquet($files, hive_partitioning = false)
    WHERE epoch_us("begin") >= $first AND epoch_us("begin") < $end
),

touched AS (
    SELECT transaction, session, span, access."table" AS "table", access.key AS key,
        access.kind IN {WRITE_KINDS} AS writes
    FROM access
),

shared AS (
    SELECT span, "table", key,
        min(session) FILTER (writes) AS least_writer, max(session) FILTER (writes) AS last_writer
    FROM touched GROUP BY ALL HAVING bool_or(writes) AND min(session) <> max(session)
)

SELECT span, count(DISTINCT transaction) FROM touched JOIN shared USING (span, "table", key)
WHERE writes OR least_writer <> session OR last_writer <> session GROUP BY span
"""

SKEW = """
WITH access AS (
    SELECT unnest(accesses) AS access FROM read_parquet($files, hive_partitioning = false)
    WHERE epoch_us("begin") >= $first AND epoch_us("begin") < $end
),

touched AS (
    SELECT access."table" AS "table", access.key AS key, count(*) AS accesses
    FROM access GROUP BY ALL
),

ranked AS (
    SELECT *, row_number() OVER (PARTITION BY "table" ORDER BY accesses DESC) AS rank,
        count(*) OVER (PARTITION BY "table") AS rows
    FROM touched
)

SELECT "table", sum(accesses)::BIGINT, any_value(rows)::BIGINT, max(accesses)::BIGINT,
    sum(accesses) FILTER (rank <= greatest(1, rows // 100))::BIGINT
FROM ranked GROUP BY ALL
"""


SECOND_US = 1_000_000


@dataclass(frozen=True)
class Skew:
    """The skew of the accesses to a table.

    Attributes:
        accesses: the number of accesses.
        rows: the number of distinct rows.
        hottest: share of the accesses that are to the hottest row, 0 to 1.
        hottest_percent: share of the accesses to the hottest 1 % of the rows, at least one row.
    """

    accesses: int
    rows: int
    hottest: float
    hottest_percent: float


@dataclass(frozen=True)
class Likeness:
    """Properties of a part of a trace, or of its replay.

    Attributes:
        mix: transactions by type.
        skew: skew by table.
        conflict_rate: the share of conflicting transactions, as the mean over all windows of five
            minutes from the first transaction to the last. Two transactions conflict if they are of
            different sessions, access the same row in the same window, and one of them writes it.
            This is the definition of section 7.6.1, with sessions in place of users, because a
            replay distinguishes only sessions.
    """

    mix: dict[str, int]
    skew: dict[str, Skew]
    conflict_rate: float


def recorded(trace: Trace, part: Part) -> Likeness:
    """Measure a part of a trace, including what can't be replayed.

    Raises:
        TraceError: the trace can't be read.
    """
    import duckdb  # slow to load, and few commands come here

    files = [str(path) for day in part.days for path in trace.files(day)]
    given = {"files": files, "first": part.first_us, "end": part.end_us}
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": len(os.sched_getaffinity(0)),
        "memory_limit": MEMORY_LIMIT,
    }
    try:
        with duckdb.connect(config=config) as database:
            mix = dict(database.execute(MIX, given).fetchall())
            rows = database.execute(SKEW, given).fetchall()
            windows = given | {"window": WINDOW_US}
            requests = dict(database.execute(REQUESTS, windows).fetchall())
            conflicting = dict(database.execute(CONFLICTING, windows).fetchall())
    except duckdb.Error as error:
        raise TraceError(f"{trace.folder}: can't be measured: {error}") from None
    skew = {
        table: Skew(accesses, touched, hottest / accesses, percent / accesses)
        for table, accesses, touched, hottest, percent in rows
    }
    rates = [conflicting.get(span, 0) / count for span, count in requests.items()]
    windows_between = max(requests) - min(requests) + 1 if requests else 1
    return Likeness(mix, skew, sum(rates) / windows_between)


def replayed(program: Program, part: Part) -> Likeness:
    """Measure one round of the program that was made from the part."""
    types = [type_["name"] for type_ in program.header["types"]]
    counts = np.bincount(program.arrays["type"], minlength=len(types))
    mix = dict(zip(types, counts.tolist(), strict=True))
    rates = list(_conflict_rates(program, part))
    return Likeness(mix, dict(_skews(program)), float(np.mean(rates)))


def likeness_tables(trace: Likeness, replay: Likeness) -> tuple[Table, Table]:
    """Return tables of the mix and the skew, recorded and replayed."""
    mix = counts_table("Mix", "type", "recorded", "share", "replayed", "share")
    for name, count in sorted(trace.mix.items(), key=lambda pair: -pair[1]):
        taken = replay.mix.get(name, 0)
        mix.add_row(
            visible(name), f"{count:,}", _share(count, trace), f"{taken:,}", _share(taken, replay)
        )
    skew = counts_table(
        "Skew: share of a table's accesses that are to its hottest row, and hottest 1 % of rows",
        *("table", "rows", "hottest", "hottest 1 %", "replayed rows", "hottest", "hottest 1 %"),
    )
    for table, table_skew in sorted(trace.skew.items()):
        skew.add_row(visible(table), *_skew_cells(table_skew), *_skew_cells(replay.skew.get(table)))
    return mix, skew


def conflict_words(trace: Likeness, replay: Likeness) -> str:
    """Return a line with both conflict rates."""
    return (
        f"Conflict rate, by session, in five minutes: {trace.conflict_rate:.2%} recorded, "
        f"{replay.conflict_rate:.2%} replayed"
    )


def arrival_words(program: Program) -> str:
    """Return a line about the arrivals of a round, with an example of `workload.speed`."""
    begins = program.arrays["begin"]
    seconds = (int(begins[-1]) - int(begins[0])) / SECOND_US
    if seconds == 0:
        return "Arrivals: all at the same time; workload.arrivals=recorded needs a longer part"
    rate = (len(begins) - 1) / seconds
    _, by_second = np.unique(begins // np.uint64(SECOND_US), return_counts=True)
    speed = max(1, round(EXAMPLE_RATE / rate))
    return (
        f"Arrivals: {rate:,.4g} a second in {seconds:,.4g} s, {by_second.max():,} in the busiest "
        f"second. With workload.arrivals=recorded workload.speed={speed} they are "
        f"{speed * rate:,.0f} a second, and a round takes {seconds / speed:,.3g} s"
    )


def _conflict_rates(program: Program, part: Part) -> Iterator[float]:
    """Yield the share of conflicting transactions of each window."""
    arrays, header = program.arrays, program.header
    counts = np.array([len(type_["accesses"]) for type_ in header["types"]])
    made = [made for type_ in header["types"] for made in type_["accesses"]]
    table_of = np.array([access["table"] for access in made])
    writes_of = np.array([access["kind"] in WRITE_KINDS for access in made])
    rows = np.array([table["rows"] for table in header["tables"]])
    before = header["first_us"] - part.first_us
    last = int(arrays["begin"][-1]) + before
    for window in range(before // WINDOW_US, last // WINDOW_US + 1):
        edges = np.array([window, window + 1]) * WINDOW_US - before
        first, end = np.searchsorted(arrays["begin"], np.maximum(edges, 0))
        if first == end:
            yield 0.0
            continue
        bounds = arrays["first_access"][first : end + 1].astype(np.int64)
        here = slice(bounds[0], bounds[-1])
        transaction = np.repeat(np.arange(end - first), np.diff(bounds))
        types = arrays["type"][first:end][transaction]
        declared = (np.cumsum(counts) - counts)[types] + arrays["access"][here]
        row = (np.cumsum(rows) - rows)[table_of[declared]] + arrays["row"][here]
        session = arrays["session"][first:end][transaction].astype(np.int64)
        meets = _meets_another(row, session, writes_of[declared])
        yield len(np.unique(transaction[meets])) / (end - first)


def _meets_another(row: np.ndarray, session: np.ndarray, writes: np.ndarray) -> np.ndarray:
    """Return which accesses share their row with another session, one of the two writing it."""
    if not len(row):
        return np.zeros(0, bool)
    order = np.argsort(row, kind="stable")
    starts = np.flatnonzero(np.diff(row[order], prepend=-1))
    sizes = np.diff(starts, append=len(row))
    who, writing = session[order], writes[order]
    nobody = np.iinfo(np.int64).max
    several = np.minimum.reduceat(who, starts) != np.maximum.reduceat(who, starts)
    least_writer = np.minimum.reduceat(np.where(writing, who, nobody), starts)
    last_writer = np.maximum.reduceat(np.where(writing, who, -1), starts)
    other_writes = (np.repeat(least_writer, sizes) != who) | (np.repeat(last_writer, sizes) != who)
    shared = np.repeat(several & (last_writer >= 0), sizes)
    meets = np.empty(len(row), bool)
    meets[order] = shared & (writing | other_writes)
    return meets


def _skews(program: Program) -> Iterator[tuple[str, Skew]]:
    arrays, header = program.arrays, program.header
    counts = [len(type_["accesses"]) for type_ in header["types"]]
    firsts = np.cumsum(counts) - counts
    table_of = np.array([made["table"] for type_ in header["types"] for made in type_["accesses"]])
    lengths = np.diff(arrays["first_access"]).astype(np.int64)
    tables = table_of[np.repeat(firsts[arrays["type"]], lengths) + arrays["access"]]
    for number, table in enumerate(header["tables"]):
        touched = np.bincount(arrays["row"][tables == number])
        touched = np.sort(touched[touched > 0])[::-1]
        total = int(touched.sum())
        if total:
            few = int(touched[: max(1, len(touched) // 100)].sum())
            yield table["name"], Skew(total, len(touched), int(touched[0]) / total, few / total)


def _share(count: int, of: Likeness) -> str:
    total = sum(of.mix.values())
    return f"{count / total:.1%}" if total else "-"


def _skew_cells(skew: Skew | None) -> tuple[str, str, str]:
    if skew is None:
        return "0", "-", "-"
    return f"{skew.rows:,}", f"{skew.hottest:.2%}", f"{skew.hottest_percent:.2%}"
