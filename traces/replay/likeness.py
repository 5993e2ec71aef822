"""How much alike a part of a trace and its replay are: counted in the one and in the other.

A replay reissues what was logged, and is as good as what it keeps of it ("inaccurate workload
emulation": Wang et al., OSDI 2021, section 9). What is recorded is counted by a query over the
trace's files, what is replayed in the program's arrays; the two share no code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
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
"""What a query may hold; the rest goes to a temporary folder."""

MIX = """
SELECT type, count(*) FROM read_parquet($files, hive_partitioning = false)
WHERE epoch_us("begin") >= $first AND epoch_us("begin") < $end GROUP BY ALL
"""

EXAMPLE_RATE = 10_000
"""Arrivals a second at which a core or two have something to do."""

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
    """How unevenly the rows of a table are accessed.

    Attributes:
        accesses: to the table, in all.
        rows: that are accessed.
        hottest: share of the accesses that are to the hottest row, 0 to 1.
        hottest_percent: likewise, to the hottest 1 % of the rows, one row at least.
    """

    accesses: int
    rows: int
    hottest: float
    hottest_percent: float


@dataclass(frozen=True)
class Likeness:
    """What is in a trace, or in its replay.

    Attributes:
        mix: transactions by type.
        skew: by table.
        conflict_rate: share of the transactions that access a row which a transaction of another
            session accesses within the same five minutes, one of the two writing it; the mean over
            the windows from that of the first transaction to that of the last. As in section
            7.6.1, with sessions in place of users: a replay keeps apart sessions, not users.
    """

    mix: dict[str, int]
    skew: dict[str, Skew]
    conflict_rate: float


def recorded(trace: Trace, part: Part) -> Likeness:
    """What a part of a trace is like, with all that can't be replayed.

    Raises:
        TraceError: the trace can't be read.
    """
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
        raise TraceError(f"{trace.folder}: can't be counted: {error}") from None
    skew = {
        table: Skew(accesses, touched, hottest / accesses, percent / accesses)
        for table, accesses, touched, hottest, percent in rows
    }
    rates = [conflicting.get(span, 0) / count for span, count in requests.items()]
    windows_between = max(requests) - min(requests) + 1 if requests else 1
    return Likeness(mix, skew, sum(rates) / windows_between)


def replayed(program: Program, part: Part) -> Likeness:
    """What a round of a program is like, which was made of the part."""
    types = [one["name"] for one in program.header["types"]]
    counts = np.bincount(program.arrays["type"], minlength=len(types))
    mix = dict(zip(types, counts.tolist(), strict=True))
    rates = list(_conflict_rates(program, part))
    return Likeness(mix, dict(_skews(program)), float(np.mean(rates)))


def likeness_tables(trace: Likeness, replay: Likeness) -> tuple[Table, Table]:
    """Mix and skew, recorded beside replayed."""
    mix = counts_table("Mix", "type", "recorded", "share", "replayed", "share")
    for name, count in sorted(trace.mix.items(), key=lambda one: -one[1]):
        taken = replay.mix.get(name, 0)
        mix.add_row(
            visible(name), f"{count:,}", _share(count, trace), f"{taken:,}", _share(taken, replay)
        )
    skew = counts_table(
        "Skew: share of a table's accesses that are to its hottest row, and hottest 1 % of rows",
        *("table", "rows", "hottest", "hottest 1 %", "replayed rows", "hottest", "hottest 1 %"),
    )
    for table, one in sorted(trace.skew.items()):
        skew.add_row(visible(table), *_skew_cells(one), *_skew_cells(replay.skew.get(table)))
    return mix, skew


def conflict_words(trace: Likeness, replay: Likeness) -> str:
    """The conflict rates, recorded beside replayed."""
    return (
        f"Conflict rate, by session, in five minutes: {trace.conflict_rate:.2%} recorded, "
        f"{replay.conflict_rate:.2%} replayed"
    )


def arrival_words(program: Program) -> str:
    """When the transactions of a round arrive, and what that means for `workload.speed`."""
    begins = program.arrays["begin"]
    seconds = (int(begins[-1]) - int(begins[0])) / SECOND_US
    if seconds == 0:
        return "Arrivals: all at the same moment; workload.arrivals=recorded needs a longer part"
    rate = (len(begins) - 1) / seconds
    _, by_second = np.unique(begins // np.uint64(SECOND_US), return_counts=True)
    speed = max(1, round(EXAMPLE_RATE / rate))
    return (
        f"Arrivals: {rate:,.4g} a second in {seconds:,.4g} s, {by_second.max():,} in the busiest "
        f"second. With workload.arrivals=recorded workload.speed={speed} they are "
        f"{speed * rate:,.0f} a second, and a round takes {seconds / speed:,.3g} s"
    )


def _conflict_rates(program: Program, part: Part) -> Iterator[float]:
    """The share of each window's transactions that are in conflict."""
    arrays, header = program.arrays, program.header
    counts = np.array([len(one["accesses"]) for one in header["types"]])
    made = [made for one in header["types"] for made in one["accesses"]]
    table_of = np.array([one["table"] for one in made])
    writes_of = np.array([one["kind"] in WRITE_KINDS for one in made])
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
    """Which accesses are to a row that another session accesses, too, one of the two writing."""
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
    counts = [len(one["accesses"]) for one in header["types"]]
    firsts = np.cumsum(counts) - counts
    table_of = np.array([made["table"] for one in header["types"] for made in one["accesses"]])
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
