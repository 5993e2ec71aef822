"""A short recording of a policy on virtual cores, for the page's timelines."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from envs import Evaluator, MeasuringError, of_policy
from envs.timeline import Timeline
from policies import PolicyDocument, to_json
from trainer.config import ReportTimelineConfig, VirtualConfig, workload_options
from trainer.config import CostsConfig
from trainer.report.drawn import as_svg, style
from trainer.report.kept import KeptRun
from trainer.timeline.picture import Window, window_figure

EVENTS = 500_000
LONGEST_US = 60.0
SHORTEST_US = 6.0
ATTEMPTS = 2.5
"""A window is as long as so many attempts."""


class NoWindowError(ValueError):
    """There is no timeline of a run; the message says why."""


@dataclass(frozen=True)
class Drawn:
    """A timeline in the page.

    Attributes:
        name: the policy's.
        svg: the picture.
        note: what is seen, in a line.
    """

    name: str
    svg: str
    note: str


def draw_windows(
    run: KeptRun,
    policies: Mapping[str, PolicyDocument],
    machine: VirtualConfig,
    config: ReportTimelineConfig,
    prefix: str,
) -> list[Drawn]:
    """Record each policy on the run's workload, and draw a part of each, all at one scale.

    Args:
        run: whose workload it is.
        policies: what to run, by name.
        machine: the virtual cores, for a run on real ones; a run on virtual ones has its own.
        config: how much is recorded.
        prefix: of the pictures' names in the page.

    Raises:
        NoWindowError: it can't be recorded.
    """
    where = _machine_of(run, machine)
    try:
        evaluator = Evaluator(
            workload_options(run.workload),
            where.cores,
            machine=where.options(),
            seed=int(run.settings.get("seed", 1)),
        )
        try:
            recorded = {
                name: evaluator.record(
                    of_policy(name, to_json(policy)),
                    config.seconds,
                    warmup=config.warmup,
                    seed=config.seed,
                    events=EVENTS,
                )
                for name, policy in policies.items()
            }
        finally:
            evaluator.close()
    except (ImportError, ValueError, MeasuringError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NoWindowError(reason) from error
    length = _length_us(list(recorded.values()))
    return [
        _draw(name, timeline, length, config.lanes, f"{prefix}{number}")
        for number, (name, timeline) in enumerate(recorded.items())
    ]


def _machine_of(run: KeptRun, otherwise: VirtualConfig) -> VirtualConfig:
    """The virtual cores of a run; for real ones as many virtual ones."""
    kept: Any = run.settings.get("machine")
    if not run.virtual:
        cores = run.comparison.rows[0].machine.cores if run.finished and run.comparison else None
        return VirtualConfig(**{**vars(otherwise), "cores": cores or otherwise.cores})
    try:
        costs = CostsConfig(**kept["costs"])
        names = {one.name for one in fields(VirtualConfig)}
        return VirtualConfig(**{**kept, "costs": costs}) if set(kept) <= names else otherwise
    except (KeyError, TypeError) as error:
        raise NoWindowError(f"config.yaml has no virtual machine: {error}") from error


def _length_us(timelines: Sequence[Timeline]) -> float:
    lasted = [
        statistics.median(attempt.end - attempt.begin for attempt in timeline.attempts)
        for timeline in timelines
        if timeline.attempts
    ]
    return min(LONGEST_US, max(SHORTEST_US, ATTEMPTS * max(lasted, default=0.0) / 1000))


def _draw(name: str, timeline: Timeline, length_us: float, lanes: int, ident: str) -> Drawn:
    begin = max(0.0, (timeline.end / 1000 - length_us) / 2)
    window = Window(begin, begin + length_us, _busiest(timeline, begin, length_us, lanes))
    with style():
        svg = as_svg(window_figure(timeline, window, ""), ident)
    ended = [one for one in timeline.attempts if one.outcome is not None]
    aborts = sum(one.outcome == "abort" for one in ended)
    waits = sum(len(one.waits) for one in timeline.attempts)
    note = (
        f"{len(window.cores)} of {timeline.cores} virtual cores for {length_us:.0f} µs. In the "
        f"{timeline.end / 1000:.0f} µs that were recorded, {len(ended) - aborts:,} transactions "
        f"ended, {aborts:,} attempts aborted, and {waits:,} waits were made."
    )
    return Drawn(name, svg, note)


def _busiest(timeline: Timeline, begin_us: float, length_us: float, lanes: int) -> list[int]:
    """The cores that run transactions for most of a window: others back off, an empty lane."""
    begin, end = begin_us * 1000, (begin_us + length_us) * 1000
    busy = dict.fromkeys(range(timeline.cores), 0.0)
    for attempt in timeline.attempts:
        busy[attempt.core] += max(0.0, min(end, attempt.end) - max(begin, attempt.begin))
    return sorted(sorted(busy, key=lambda core: (-busy[core], core))[:lanes])
