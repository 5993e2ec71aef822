"""Measure how a switch of policies during a run affects throughput (Polyjuice §7.6, figure 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from envs.result import Interval, Result

FEWEST_INTERVALS = 4
"""Minimum number of intervals before and after a switch; half of them are steady ones."""

ROUNDING_S = 1e-9
"""An interval that ends within this time of a switch ran under the previous policy."""


@dataclass(frozen=True)
class HotSwitch:
    """The effect of a switch on throughput, in commits per second.

    A policy's steady intervals are the later half of its intervals. The neighbourhood of a switch
    begins with the last interval before it and ends where the steady ones after it begin.

    Attributes:
        at_s: time of the switch, in seconds since the window began.
        before: name of the policy before the switch.
        after: name of the policy after the switch.
        steady_before: median of the steady intervals before the switch.
        steady_after: median of the steady intervals after the switch.
        lowest: lowest interval in the neighbourhood.
        lowest_after: lowest interval entirely under the new policy, before its steady ones.
        spread: largest distance of a steady interval below its median, relative to the median.
        settled_s: seconds from the switch to the end of the first interval within `spread` of
            `steady_after`; None if there is none before the steady ones.
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
        """Relative distance of `lowest` below the lower steady median; negative if above."""
        lower = min(self.steady_before, self.steady_after)
        return 1 - self.lowest / lower if lower else 0.0

    @property
    def start_up(self) -> float:
        """Relative distance of `lowest_after` below `steady_after`; negative if above."""
        return 1 - self.lowest_after / self.steady_after if self.steady_after else 0.0

    @property
    def dips(self) -> bool:
        """Whether throughput falls further than it does in steady intervals."""
        return self.fall > self.spread

    def words(self) -> str:
        """Return the effect of the switch as text."""
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
        """Return the attributes and properties as JSON values."""
        return {
            **asdict(self),
            "fall": self.fall,
            "start_up": self.start_up,
            "dips": self.dips,
        }


@dataclass(frozen=True)
class Unjudged:
    """A switch with too few intervals before or after it to judge.

    This occurs near the end of an interrupted run. On real cores it can occur anywhere, because
    very short intervals may be missed.

    Attributes:
        at_s: time of the switch, in seconds since the window began.
        before: name of the policy before the switch.
        after: name of the policy after the switch.
        intervals: number of intervals under one of the two policies, the smaller one.
    """

    at_s: float
    before: str
    after: str
    intervals: int

    def words(self) -> str:
        """Return why there is no verdict and how to get one, as text."""
        were = "interval was" if self.intervals == 1 else "intervals were"
        return (
            f"{self.before} → {self.after} at {_duration(self.at_s)}: no verdict, because only "
            f"{self.intervals} {were} counted under one of them ({FEWEST_INTERVALS} are needed); "
            "use a longer window or fewer intervals"
        )


def judge_switches(result: Result, first: str, names: Sequence[str]) -> list[HotSwitch | Unjudged]:
    """Return the effect of each switch of a run.

    Args:
        result: a result of `Evaluator.run_switching`.
        first: name of the policy at the start.
        names: names of the policies that the run switched to, in order.

    Returns:
        One entry per switch; it is judged if it has `FEWEST_INTERVALS` intervals on both sides.
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
    """Group intervals by policy; an interval with a switch belongs to the new policy.

    Args:
        intervals: intervals of a run, in order.
        times: times of its switches in order, in seconds since the window began.

    Returns:
        One list of intervals per policy, in order.
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
    # An interval with a switch ran under the old policy for a part.
    whole = [interval for interval in unsteady if interval.start_s >= at_s - ROUNDING_S]
    spread = max(_fall(steady_old), _fall(steady_new))
    middle = median(steady_new)
    settled = [
        interval.start_s + interval.seconds - at_s
        for interval in whole
        if abs(interval.throughput - middle) <= spread * middle
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
    """Return the relative distance of the lowest rate below the median."""
    middle = median(rates)
    return 1 - min(rates) / middle if middle else 0.0


def _side(fall: float) -> str:
    return f"{abs(fall):.1%} {'below' if fall >= 0 else 'above'}"


def _ratio(new: float, old: float) -> str:
    return f"{new / old:.2f} ×" if old else "–"


def _duration(seconds: float) -> str:
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"
