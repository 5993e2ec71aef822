"""A comparison as people read it."""

from __future__ import annotations

from rich import box
from rich.table import Table

from envs.comparison import Comparison, Row
from envs.result import Arrivals, Machine
from traces.spelling import visible

FEW_ARRIVALS = 100
"""With fewer arrivals in a run than this, its figures say little."""

WIDE_TYPES = 5
"""With more transaction types than this, latency is shown for the slowest one only."""


def comparison_table(comparison: Comparison, title: str) -> Table:
    """A row a policy: throughput with its spread, ratio to the first, aborts, latency by type.

    The best throughput is bold. Latencies are p50 and p99 in µs. Of an open loop also: commits ÷
    arrivals, how late the latest transaction was at the end, and how busy the workers were.
    """
    rows = comparison.rows
    types = rows[0].types if rows else []
    shown = types if len(types) <= WIDE_TYPES else []
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    table.add_column("commits/s", justify="right", no_wrap=True)
    table.add_column("spread", justify="right", no_wrap=True)
    first = rows[0].subject.name if rows else "first"
    table.add_column(f"× {first}", justify="right")
    table.add_column("aborts", justify="right", no_wrap=True)
    open_loop = any(row.arrivals is not None for row in rows)
    for name in ("of offered", "lag ms", "busy") if open_loop else ():
        table.add_column(name, justify="right", no_wrap=True)
    for name in shown or ["slowest type"]:
        table.add_column(f"{visible(name)}\np50 / p99 µs", justify="right")
    best = max((row.throughput for row in rows), default=0.0)
    for row in rows:
        table.add_row(
            _label(row),
            f"{row.throughput:,.0f}",
            "–" if row.spread is None else f"± {row.spread:.1%}",
            "–" if row.ratio is None else f"{row.ratio:.3f}",
            f"{row.abort_rate:.1%}",
            *(_keeping_up(row) if open_loop else ()),
            *(_latencies(row, shown)),
            style="bold" if row.throughput == best else None,
        )
    table.caption = _caption(comparison)
    table.caption_justify = "left"
    return table


def machine_words(machine: Machine) -> str:
    """The machine as tables name it: figures of virtual cores never pass for real ones."""
    kind = "real" if machine.kind == "threads" else machine.kind
    return f"{machine.cores} {kind} core{'' if machine.cores == 1 else 's'}"


def _label(row: Row) -> str:
    subject, name = row.subject, visible(row.subject.name)
    return f"{name} ({subject.backoff_us:g} µs)" if subject.backoff == "static" else name


def _keeping_up(row: Row) -> list[str]:
    arrivals = row.arrivals or Arrivals()
    shares = ["–" if share is None else f"{share:.1%}" for share in (row.kept_up, row.busy)]
    return [shares[0], f"{arrivals.lag_us / 1000:,.2f}", shares[1]]


def _latencies(row: Row, types: list[str]) -> list[str]:
    if not types:
        slowest = max(row.types, key=lambda name: row.latency_of(name).p99)
        types = [slowest]
    figures = [row.latency_of(name) for name in types]
    return [f"{latency.p50:,.0f} / {latency.p99:,.0f}" for latency in figures]


def _caption(comparison: Comparison) -> str:
    if not comparison.rows:
        return "nothing was measured"
    repeats = [len(row.repeats) for row in comparison.rows]
    seconds = comparison.rows[0].repeats[0].duration_s
    count = f"{min(repeats)}" if min(repeats) == max(repeats) else f"{min(repeats)}–{max(repeats)}"
    parts = [
        f"median of {count} interleaved runs of {seconds:.2g} s each; spread: half the distance "
        "between the quartiles"
        if max(repeats) > 1
        else f"one run of {seconds:.2g} s each, which has no spread"
    ]
    arrivals = comparison.rows[0].arrivals
    if arrivals is not None:
        parts.append(_offered(arrivals, seconds))
    elif comparison.rows[0].machine.kind == "virtual":
        parts.append("commits/s in the workload's own mix of types")
    if comparison.interrupted:
        parts.append("interrupted: not all runs were made")
    return "; ".join(parts)


def _offered(arrivals: Arrivals, seconds: float) -> str:
    words = (
        f"{arrivals.offered:,.0f} transactions a second arrived; lag: how long the oldest that was "
        "not begun had waited at the end; latencies are from arrival to commit"
    )
    count = round(arrivals.offered * seconds)
    if count < FEW_ARRIVALS:
        words += (
            f"; only {count} arrived in a run: take a higher workload.speed, or more run.seconds"
        )
    return words
