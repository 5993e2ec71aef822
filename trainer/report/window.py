"""Short recordings of policies on virtual cores, for the page's timelines."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from envs import of_policy
from envs.timeline import Attempt, Timeline, attempts_between
from policies import PolicyDocument, to_json
from policies.in_words import policy_words
from trainer.config import ReportTimelineConfig
from trainer.report.drawn import as_svg, style
from trainer.report.recording import recording_evaluator
from trainer.report.saved_run import SavedScenario
from trainer.timeline.picture import Window, window_figure

EVENTS = 500_000
LONGEST_US = 60.0
SHORTEST_US = 6.0
ATTEMPTS = 2.5
"""The length of a window, in attempts of median duration."""


@dataclass(frozen=True)
class Drawn:
    """A timeline in the page.

    Attributes:
        name: the policy's display name.
        svg: the picture.
        note: a summary of the recording, in a line.
    """

    name: str
    svg: str
    note: str


def draw_windows(
    run: SavedScenario,
    policies: Mapping[str, PolicyDocument],
    config: ReportTimelineConfig,
    prefix: str,
) -> list[Drawn]:
    """Record each policy on the run's workload, and draw a part of each on one scale.

    Args:
        run: a scenario on virtual cores.
        policies: the policies to run, by name.
        config: the length of the recording.
        prefix: of the pictures' names in the page.

    Raises:
        NoRecordingError: the recording is not possible.
    """
    with recording_evaluator(run) as evaluator:
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
    length = _length_us(list(recorded.values()))
    return [
        _draw(name, timeline, length, config.lanes, f"{prefix}{number}")
        for number, (name, timeline) in enumerate(recorded.items())
    ]


def _length_us(timelines: Sequence[Timeline]) -> float:
    lasted = [
        statistics.median(attempt.end - attempt.begin for attempt in timeline.attempts)
        for timeline in timelines
        if timeline.attempts
    ]
    return min(LONGEST_US, max(SHORTEST_US, ATTEMPTS * max(lasted, default=0.0) / 1000))


def _draw(name: str, timeline: Timeline, length_us: float, lanes: int, ident: str) -> Drawn:
    window = liveliest(timeline, length_us, lanes)
    with style():
        svg = as_svg(window_figure(timeline, window, ""), ident)
    ended = [attempt for attempt in timeline.attempts if attempt.outcome is not None]
    aborts = sum(attempt.outcome == "abort" for attempt in ended)
    waits = sum(len(attempt.waits) for attempt in timeline.attempts)
    note = (
        f"The busiest {length_us:.0f} µs, on {len(window.cores)} of {timeline.cores} virtual "
        f"cores. The whole recording of {timeline.end / 1000:.0f} µs has "
        f"{len(ended) - aborts:,} ended transactions, {aborts:,} aborted attempts and {waits:,} "
        "waits."
    )
    return Drawn(policy_words(name), svg, note)


def liveliest(timeline: Timeline, length_us: float, lanes: int) -> Window:
    """Return the window with the most visible attempts, and the cores that run most of them.

    Cores that back off or wait all the time would be empty lanes, or one long bar.

    Args:
        timeline: the recording.
        length_us: length of the window.
        lanes: the maximum number of cores.
    """
    length = length_us * 1000
    starts = range(max(1, math.ceil(2 * timeline.end / length) - 2))
    seen = [attempts_between(timeline, at * length / 2, (at / 2 + 1) * length) for at in starts]
    chosen = [_liveliest_cores(timeline, attempts, lanes) for attempts in seen]
    at = max(
        starts, key=lambda at: sum(attempt.core in chosen[at] for attempt in seen[at]), default=0
    )
    begin = at * length_us / 2
    return Window(begin, begin + length_us, sorted(chosen[at]))


def _liveliest_cores(timeline: Timeline, attempts: Iterable[Attempt], lanes: int) -> set[int]:
    """For each type, the core with most of its attempts; then the cores with most attempts."""
    by_type: dict[str, Counter[int]] = {}
    for attempt in attempts:
        by_type.setdefault(attempt.type, Counter())[attempt.core] += 1
    chosen: dict[int, None] = {}
    everything: Counter[int] = sum(by_type.values(), Counter())
    for made in (*by_type.values(), *[Counter({c: n}) for c, n in everything.most_common()]):
        others = [core for core, _ in made.most_common() if core not in chosen]
        chosen |= dict.fromkeys(others[:1])
    return set(list(chosen)[:lanes]) or set(range(min(lanes, timeline.cores)))
