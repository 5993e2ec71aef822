"""Render a comparison as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

from envs.baselines import is_tuned
from envs.comparison import Comparison, Row
from envs.external_sweep import is_tuned_external, is_tuned_store, settings_words
from envs.result import Arrivals, Machine
from envs.subject import Subject
from envs.type_result import Latency
from envs.windows import run_seconds, runs_words, window_remarks
from traces.spelling import visible

NONE = "none"
"""The latency of a type without commits."""

FEW_ARRIVALS = 100
"""Number of arrivals per run below which the caption warns."""

WIDE_TYPES = 5
"""Number of transaction types above which only the slowest type's latency is shown."""

WIDEST = 10_000
"""A width that no table reaches."""

FINE = 10.0
"""Mean latencies below this, in µs, have a decimal."""

SLOW = 5.0
"""The ratio to the p99 of the best other policy above which a type is marked."""

LEFT_OUT_MAX = 3
"""Maximum number of types left out of the mix that are named and have a column of commits."""


def comparison_table(comparison: Comparison, title: str) -> ComparisonTable:
    """Return a comparison as a table with one row per policy.

    The columns are throughput, its spread, the ratio to the first policy by the objective, and the
    abort rate. Then come the latency of all transactions (mean and L2 norm in µs, coefficient of
    variation) and that of each type (p50 and p99 in µs). A p99 far above that of the best other
    policy has an exclamation mark. The best throughput is bold. An open loop adds commits divided
    by arrivals, the lag at the end, and the share of busy time. A policy that did not keep the
    workload's mix has a star, and the commits of the types left out are further columns.

    Args:
        comparison: the comparison.
        title: title of the table.
    """
    rows, best = comparison.rows, comparison.best_rows
    names = _Column("policy", [_label(row) for row in rows], justify="left", no_wrap=True)
    main, by_type = _main_columns(rows), _type_columns(rows, comparison)
    bold = [row in best for row in rows]
    return ComparisonTable(
        _table([names, *main, *by_type], bold, title, _caption(comparison)),
        # In two parts, each fits into 80 columns for three types.
        _table([names, *main[:-1]], bold, title),
        _table([names, main[-1], *by_type], bold, caption=_caption(comparison)),
    )


class ComparisonTable:
    """A comparison's table, in two parts where the terminal is too narrow for the whole.

    Args:
        whole: the table.
        main: its first part, the figures of all types.
        by_type: its second part, the figures by type.
    """

    def __init__(self, whole: Table, main: Table, by_type: Table) -> None:
        self.whole = whole
        self._parts = (main, by_type)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width of the whole table."""
        return Measurement.get(console, options, self.whole)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the whole table if it fits, else its parts."""
        unbounded = options.update_width(WIDEST)
        fits = Measurement.get(console, unbounded, self.whole).maximum <= options.max_width
        yield from (self.whole,) if fits else self._parts


@dataclass(frozen=True)
class _Column:
    header: str
    cells: Sequence[str]
    justify: Literal["left", "right"] = "right"
    no_wrap: bool = False


def _main_columns(rows: list[Row]) -> list[_Column]:
    """Return the columns of all types together."""
    first = rows[0].subject.name if rows else "first"
    spreads = ["–" if row.spread is None else f"± {row.spread:.1%}" for row in rows]
    ratios = ["–" if row.ratio is None else f"{row.ratio:.3f}" for row in rows]
    columns = [
        _Column("commits/s", [f"{row.throughput:,.0f}" for row in rows], no_wrap=True),
        _Column("spread", spreads, no_wrap=True),
        _Column(f"× {first}", ratios),
        _Column("aborts", [f"{row.abort_rate:.1%}" for row in rows], no_wrap=True),
    ]
    if any(row.arrivals is not None for row in rows):
        shares = zip(*(_keeping_up(row) for row in rows), strict=True)
        headers = ("of offered", "lag ms", "busy")
        pairs = zip(headers, shares, strict=True)
        columns += [_Column(header, cells, no_wrap=True) for header, cells in pairs]
    latencies = [_spread_of_latency(row) for row in rows]
    columns.append(_Column("latency µs\nmean / L2", [cells[0] for cells in latencies]))
    columns.append(_Column("CV", [cells[1] for cells in latencies], no_wrap=True))
    return columns


def _type_columns(rows: list[Row], comparison: Comparison) -> list[_Column]:
    """Return the columns of each type."""
    types = rows[0].types if rows else []
    shown = types if len(types) <= WIDE_TYPES else []
    figures = [_latencies(row, shown, _slow_types(row, comparison)) for row in rows]
    columns = [
        _Column(f"{visible(name)}\np50 / p99 µs", [cells[at] for cells in figures])
        for at, name in enumerate(shown or ["slowest type"])
    ]
    return columns + [
        _Column(
            f"{visible(name)}\ncommits",
            [f"{row.commits_of(name):,}" if row.commits_of(name) else NONE for row in rows],
        )
        for name in _left_out(rows)
    ]


def _table(
    columns: Sequence[_Column], bold: Sequence[bool], title: str = "", caption: str = ""
) -> Table:
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column.header, justify=column.justify, no_wrap=column.no_wrap)
    for cells, is_bold in zip(zip(*(c.cells for c in columns), strict=True), bold, strict=True):
        table.add_row(*cells, style="bold" if is_bold else None)
    table.caption = caption or None
    table.caption_justify = "left"
    return table


def machine_words(machine: Machine) -> str:
    """Return the machine as text, such as `16 virtual cores` or `4 workers on 2 real cores`."""
    kind = "real" if machine.kind == "threads" else machine.kind
    if machine.crowded:
        return f"{machine.cores} workers on {_cores(machine.real_cores or 0, kind)}"
    return _cores(machine.cores, kind)


def _cores(number: int, kind: str) -> str:
    return f"{number} {kind} core{'' if number == 1 else 's'}"


def _label(row: Row) -> str:
    mark = " *" if row.shortfalls else ""
    return f"{visible(row.subject.name)}{backoff_note(row.subject)}{mark}"


def backoff_note(subject: Subject) -> str:
    """Return the settings that a sweep has found for the subject in parentheses, else ""."""
    if is_tuned_external(subject.name) and is_tuned_store(subject):
        return f" ({settings_words(subject)})"
    if subject.backoff == "static":
        return f" ({subject.backoff_us:g} µs)"
    return " (exponential)" if is_tuned(subject.name) else ""


def _keeping_up(row: Row) -> list[str]:
    arrivals = row.arrivals or Arrivals()
    shares = ["–" if share is None else f"{share:.1%}" for share in (row.kept_up, row.busy)]
    return [shares[0], f"{arrivals.lag_us / 1000:,.2f}", shares[1]]


def _spread_of_latency(row: Row) -> list[str]:
    mean, norm, variation = (row.figure(name) for name in ("mean", "l2", "cv"))
    if mean is None:
        return [NONE, "–"]
    known = "–" if norm is None else _microseconds(norm)
    return [f"{_microseconds(mean)} / {known}", "–" if variation is None else f"{variation:.2f}"]


def _microseconds(value: float) -> str:
    return f"{value:.1f}" if value < FINE else f"{value:,.0f}"


def _latencies(row: Row, types: list[str], slow: set[str]) -> list[str]:
    figures = {name: row.latency_of(name) for name in types or row.types}
    if not types:
        known = [name for name, latency in figures.items() if latency is not None]
        slowest = max(known, key=lambda name: _p99(figures[name]), default=None)
        figures = {} if slowest is None else {slowest: figures[slowest]}
    return [
        f"{latency.p50:,.0f} / {latency.p99:,.0f}{' !' if name in slow else ''}"
        if latency
        else NONE
        for name, latency in figures.items()
    ] or [NONE]


def _p99(latency: Latency | None) -> float:
    return 0.0 if latency is None else latency.p99


def _best_other(row: Row, comparison: Comparison) -> Row | None:
    """Return the policy with the most throughput, this one aside."""
    return next((other for other in comparison.ranked if other is not row), None)


def _slow_types(row: Row, comparison: Comparison) -> set[str]:
    """Return the types whose p99 is far above that of the best other policy."""
    other = _best_other(row, comparison)
    if other is None:
        return set()
    return {
        name
        for name in row.types
        if other.latency_of(name) is not None
        and _p99(row.latency_of(name)) > SLOW * _p99(other.latency_of(name))
    }


def _left_out(rows: list[Row]) -> list[str]:
    """Return the types that a policy left out, those with the most missing commits first."""
    lacks: dict[str, float] = {}
    for row in rows:
        for shortfall in row.shortfalls:
            lack = shortfall.expected - shortfall.commits
            lacks[shortfall.type_name] = max(lack, lacks.get(shortfall.type_name, 0.0))
    return sorted(lacks, key=lambda name: -lacks[name])[:LEFT_OUT_MAX]


def _caption(comparison: Comparison) -> str:
    if not comparison.rows:
        return "nothing was measured"
    parts = [runs_words(comparison)]
    if max(len(row.repeats) for row in comparison.rows) > 1:
        parts.append("spread: half the distance between the quartiles")
    parts += window_remarks(comparison)
    arrivals = comparison.rows[0].arrivals
    if arrivals is not None:
        parts.append(_offered(arrivals, run_seconds(comparison)))
    elif any(result.in_mix for row in comparison.rows for result in row.repeats):
        parts.append("commits/s in the workload's own mix of types")
    if marked := [row for row in comparison.rows if row.shortfalls]:
        parts.append(f"* did not keep the workload's mix: {', '.join(map(left_out_words, marked))}")
    parts += overdue_notes(comparison.rows)
    if any(_slow_types(row, comparison) for row in comparison.rows):
        parts.append(f"! p99 above {SLOW:g} × that of the fastest other policy")
    if not comparison.objective.is_throughput:
        parts.append(f"ratios by {comparison.objective.words}, above 1 is better")
    if comparison.interrupted:
        parts.append("interrupted: not all runs were made")
    return "\n".join(["; ".join(parts), *(f"warning: {text}" for text in comparison.warnings)])


def left_out_words(row: Row) -> str:
    """Return the types that a policy left out, such as `silo committed /settle 1 of 653`."""
    found = row.shortfalls
    more = f" and {len(found) - LEFT_OUT_MAX} more types" if len(found) > LEFT_OUT_MAX else ""
    words = f"{row.subject.name} committed {', '.join(map(str, found[:LEFT_OUT_MAX]))}{more}"
    return visible(words)


def overdue_notes(rows: Sequence[Row]) -> list[str]:
    """Return what every table says of transactions that no policy should keep waiting.

    Returns:
        At most one text, such as `unfinished at the end of a run: mvto /settle 48 of 50 ms`. It
        names the oldest transaction of each type and policy, with its age and the window.
    """
    words = [overdue_words(row) for row in rows if row.overdue]
    return [f"unfinished at the end of a run: {', '.join(words)}"] if words else []


def overdue_words(row: Row) -> str:
    """Return the types that a policy kept waiting, such as `silo /settle 48.2 of 50 ms`."""
    found = row.overdue
    more = f" and {len(found) - LEFT_OUT_MAX} more types" if len(found) > LEFT_OUT_MAX else ""
    return visible(f"{row.subject.name} {', '.join(map(str, found[:LEFT_OUT_MAX]))}{more}")


def _offered(arrivals: Arrivals, seconds: float) -> str:
    words = (
        f"{arrivals.offered:,.0f} transactions a second arrived; lag: waiting time of the oldest "
        "transaction not begun at the end; latencies are from arrival to commit"
    )
    count = round(arrivals.offered * seconds)
    if count < FEW_ARRIVALS:
        words += (
            f"; only {count} arrived in a run: set a higher run.seconds, or a higher workload.rate "
            "(workload.speed of a replay)"
        )
    return words
