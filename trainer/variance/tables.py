"""Tables of variance profiles for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from envs import machine_words
from trainer.variance.comparison import TypeDifference
from trainer.variance.factors import top_factors
from trainer.variance.profile import Profile
from trainer.variance.tree import TAIL

_MOST_BLOCKERS = 3


def short_subject(name: str) -> str:
    """Return a policy's name for people: of a file, its name without the folder and the ending."""
    return Path(name).stem if name.endswith(".json") else name


def latency_table(profiles: Sequence[Profile], types: Sequence[str]) -> Table:
    """Return a table of latencies and waits: a row for each type and policy."""
    table = _table("Latency, µs")
    table.add_column("type")
    table.add_column("policy")
    for name in ("ended", "mean", "sd", "p50", "p99"):
        table.add_column(name, justify="right")
    table.add_column("waits for, mean µs")
    for name in types:
        for number, profile in enumerate(profiles):
            if name not in profile.types:
                continue
            kind = profile.types[name]
            waits = [
                f"{blocker} {time:,.1f}"
                for blocker, time in list(kind.waits_us.items())[:_MOST_BLOCKERS]
            ]
            table.add_row(
                name if number == 0 else "",
                short_subject(profile.subject),
                f"{kind.latency_us.size:,}",
                f"{kind.tree.mean_us:,.1f}",
                f"{kind.sd_us:,.1f}",
                f"{kind.percentile_us(50):,.1f}",
                f"{kind.percentile_us(100 * TAIL):,.1f}",
                ", ".join(waits) or "none",
            )
    return table


def factors_table(profile: Profile, types: Sequence[str], k: int, d: float) -> Table:
    """Return the factors that algorithm 1 selects for each type of a policy."""
    table = _table(f"Factors of variance: {short_subject(profile.subject)}")
    table.add_column("type")
    table.add_column("factor")
    for name in ("share", "score", "mean µs", "slowest 1 %"):
        table.add_column(name, justify="right")
    for name in types:
        if name not in profile.types:
            continue
        kind = profile.types[name]
        for number, factor in enumerate(top_factors(kind.tree, k, d)):
            times = (_time(factor.mean_us), _time(factor.tail_us)) if factor.is_variance else ("",)
            table.add_row(
                name if number == 0 else "",
                factor.words,
                _percent(factor.share),
                f"{factor.score:.2f}",
                *times,
            )
    return table


def difference_table(
    first: Profile, second: Profile, found: Sequence[TypeDifference], types: Sequence[str]
) -> Table:
    """Return the factors that make the difference of two policies."""
    subjects = f"{short_subject(second.subject)} instead of {short_subject(first.subject)}"
    table = _table(f"What makes the difference: {subjects}")
    table.add_column("type")
    table.add_column("sd, µs")
    table.add_column("factor")
    for name in ("share", "mean µs", "slowest 1 %"):
        table.add_column(name, justify="right")
    for difference in found:
        if difference.name not in types:
            continue
        sds = f"{difference.first.sd_us:,.1f} → {difference.second.sd_us:,.1f}"
        for number, change in enumerate(difference.changes):
            covariance = len(change.name) > 1
            table.add_row(
                difference.name if number == 0 else "",
                sds if number == 0 else "",
                change.words,
                _percent(change.share),
                "" if covariance else f"{change.mean_us:+,.1f}",
                "" if covariance else f"{change.tail_us:+,.1f}",
            )
    return table


def recording_words(profile: Profile) -> str:
    """Return what was recorded, in a line."""
    text = (
        f"{short_subject(profile.subject)}: {profile.transactions:,} transactions in "
        f"{profile.length_us:,.0f} µs of {machine_words(profile.machine)}, "
        f"{profile.events:,} events"
    )
    if profile.unfinished:
        text += f"; {profile.unfinished:,} more are cut off by its end"
    if profile.dropped:
        text += "; the recording ended there because it reached events="
    if profile.machine.kind == "threads":
        text += f"; {_sample_words(profile)}"
    return text


def _sample_words(profile: Profile) -> str:
    """Return which part of a run on real cores was recorded, and how much slower that part was."""
    types = [name for name in profile.types if profile.selection.has_accesses_of(name)]
    accesses = f"accesses of {', '.join(types)}" if types else "no accesses"
    return (
        f"recorded for {_percent(profile.selection.share)} of the time, with {accesses}; mean "
        f"latency {profile.slowdown:.2f} × that of all transactions"
    )


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def _percent(share: float) -> str:
    return f"{100 * share:,.0f} %"


def _time(us: float) -> str:
    return f"{us:,.1f}"
