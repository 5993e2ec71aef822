"""What going over to another policy in a run does to throughput (Polyjuice §7.6, figure 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from envs.result import Interval, Result

FEWEST_INTERVALS = 4
"""Before a switch, and after it: half of them tell what is steady."""

ROUNDING_S = 1e-9
"""An interval that ends at a switch, to the nanosecond, ran under the table before."""


@dataclass(frozen=True)
class HotSwitch:
    """What a switch did to throughput; all of it commits a second.

    A policy's steady intervals are the later half of those in which it ran. The neighbourhood of
    the switch is what lies between the steady intervals before it and those after, and the last of
    those before.

    Attributes:
        at_s: when it was made, seconds since the window began.
        before: the policy until then.
        after: the policy from then on.
        steady_before: the median of the steady intervals before.
        steady_after: that of those after.
        lowest: the lowest interval in the neighbourhood.
        lowest_after: the lowest of those that ran under the new policy alone, before its steady
            ones.
        spread: how far steady intervals fall below their own median at the most, as a share of it.
        settled_s: how long after the switch the first such interval ended that was no further from
            `steady_after` than the spread; None if none was before the steady ones.
    """

    at_s: float
    before: str
    after: str
    steady_before: float
    steady_after: float
    lowest: float
    lowest_after: float
    spread: float
    settled_s: float | None

    @property
    def fall(self) -> float:
        """How far `lowest` is below the lower steady median, as a share of it; negative: above."""
        lower = min(self.steady_before, self.steady_after)
        return 1 - self.lowest / lower if lower else 0.0

    @property
    def start_up(self) -> float:
        """How far `lowest_after` is below the new policy's steady median; negative: above."""
        return 1 - self.lowest_after / self.steady_after if self.steady_after else 0.0

    @property
    def dips(self) -> bool:
        """Whether it falls further than steady intervals do by themselves."""
        return self.fall > self.spread

    def words(self) -> str:
        """What happened, in a sentence or two."""
        lower = min(self.steady_before, self.steady_after)
        verdict = "a dip" if self.dips else "no dip"
        settled = (
            "not settled before the steady intervals"
            if self.settled_s is None
            else f"settled within {_duration(self.settled_s)}"
        )
        return (
            f"{self.before} → {self.after} at {_duration(self.at_s)}: "
            f"{self.steady_before / 1000:,.1f} → {self.steady_after / 1000:,.1f} K/s "
            f"({_ratio(self.steady_after, self.steady_before)}), {verdict}: the lowest interval "
            f"around the switch has {self.lowest / 1000:,.1f} K/s, {_side(self.fall)} the lower "
            f"steady median ({lower / 1000:,.1f}); steady ones fall up to {self.spread:.1%} below "
            f"theirs; until {self.after} is steady it has at least "
            f"{self.lowest_after / 1000:,.1f} K/s, {_side(self.start_up)} its steady median; "
            f"{settled}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON, verdict included."""
        return {
            **asdict(self),
            "fall": self.fall,
            "start_up": self.start_up,
            "dips": self.dips,
        }


@dataclass(frozen=True)
class Unjudged:
    """A switch with too few intervals on a side to tell what it did.

    One near the end of a run that was cut short may have, and on real cores any: an interval that
    is over before anybody has looked is none.

    Attributes:
        at_s: when it was made, seconds since the window began.
        before: the policy until then.
        after: the policy from then on.
        intervals: how many were counted under one of the two, the fewer.
    """

    at_s: float
    before: str
    after: str
    intervals: int

    def words(self) -> str:
        """Why there is no verdict, and what would give one."""
        were = "interval was" if self.intervals == 1 else "intervals were"
        return (
            f"{self.before} → {self.after} at {_duration(self.at_s)}: no verdict, for only "
            f"{self.intervals} {were} counted under one of them, and it takes {FEWEST_INTERVALS}; "
            "take a longer window, or fewer intervals"
        )


def judge_switches(result: Result, first: str, names: Sequence[str]) -> list[HotSwitch | Unjudged]:
    """What each switch of a run did.

    Args:
        result: of `Evaluator.run_switching`.
        first: how the policy is called that ran at first.
        names: how those are called that it went over to, in order.

    Returns:
        One a switch that was made; judged if it has `FEWEST_INTERVALS` on both sides.
    """
    times = [switch.at_s for switch in result.switches]
    policies = [first, *names][: len(times) + 1]
    stretches = split(result.intervals, times)
    found: list[HotSwitch | Unjudged] = []
    for at, (old, new) in enumerate(pairwise(stretches)):
        before, after, fewest = policies[at], policies[at + 1], min(len(old), len(new))
        if fewest >= FEWEST_INTERVALS:
            found.append(_judge(times[at], before, after, old, new))
        else:
            found.append(Unjudged(times[at], before, after, fewest))
    return found


def split(intervals: Sequence[Interval], times: Sequence[float]) -> list[list[Interval]]:
    """Intervals by which policy they ran under; one in which there was a switch is the new one's.

    Args:
        intervals: of a run.
        times: of its switches, in order, seconds since the window began.
    """
    stretches: list[list[Interval]] = [[] for _ in range(len(times) + 1)]
    for interval in intervals:
        end = interval.start_s + interval.seconds
        stretches[sum(time < end - ROUNDING_S for time in times)].append(interval)
    return stretches


def _judge(
    at_s: float, before: str, after: str, old: Sequence[Interval], new: Sequence[Interval]
) -> HotSwitch:
    steady_old = _rates(old[len(old) // 2 :])
    steady_new = _rates(new[len(new) // 2 :])
    unsteady = new[: len(new) // 2]
    # Half of an interval in which there was a switch may be the old policy's, fast or slow.
    whole = [one for one in unsteady if one.start_s >= at_s - ROUNDING_S]
    spread = max(_fall(steady_old), _fall(steady_new))
    middle = median(steady_new)
    settled = [
        one.start_s + one.seconds - at_s
        for one in whole
        if abs(one.throughput - middle) <= spread * middle
    ]
    return HotSwitch(
        at_s=at_s,
        before=before,
        after=after,
        steady_before=median(steady_old),
        steady_after=middle,
        lowest=min(_rates([old[-1], *unsteady])),
        lowest_after=min(_rates(whole)),
        spread=spread,
        settled_s=settled[0] if settled else None,
    )


def _rates(intervals: Sequence[Interval]) -> list[float]:
    return [interval.throughput for interval in intervals]


def _fall(rates: Sequence[float]) -> float:
    """How far the lowest is below the median, as a share of it."""
    middle = median(rates)
    return 1 - min(rates) / middle if middle else 0.0


def _side(fall: float) -> str:
    return f"{abs(fall):.1%} {'below' if fall >= 0 else 'above'}"


def _ratio(new: float, old: float) -> str:
    return f"{new / old:.2f} ×" if old else "–"


def _duration(seconds: float) -> str:
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"
