"""What a backtest came to, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, median_low

from trainer.backtest.next_day import NextDay
from trainer.backtest.step import Step
from trainer.nightly.outcome import Outcome

CLOSE = 3.0
"""A row that is written again after less than so many times what a transaction takes alone is
what everybody waits for."""


@dataclass(frozen=True)
class Verdict:
    """Over all days that were measured.

    Attributes:
        days: how many.
        ratio: median over them of what was served over the best baseline of the day.
        better: days on which the whole interval is above 1 …
        worse: … and below 1.
        trained: nights that trained …
        promoted: … and those of which the policy was served.
    """

    days: int
    ratio: float
    better: int
    worse: int
    trained: int
    promoted: int

    @property
    def line(self) -> str:
        """The backtest in a line."""
        return (
            f"{self.ratio:.3f} × the best baseline of the day, median over {self.days} "
            f"day{'' if self.days == 1 else 's'}: better for sure on {self.better}, worse on "
            f"{self.worse}; {self.trained} trained, {self.promoted} served"
        )


def verdict_of(steps: Sequence[Step]) -> Verdict | None:
    """None if no day could be measured."""
    days = measured(steps)
    if not days:
        return None
    trained = [step.night for step in steps if "training" in step.night.numbers]
    return Verdict(
        days=len(days),
        ratio=median(day.ratio for day in days),
        better=sum(day.low > 1.0 for day in days),
        worse=sum(day.high < 1.0 for day in days),
        trained=len(trained),
        promoted=sum(night.outcome is Outcome.PROMOTED for night in trained),
    )


def measured(steps: Sequence[Step]) -> list[NextDay]:
    """The days that could be."""
    return [step.next_day for step in steps if step.next_day is not None]


def no_gain_reasons(steps: Sequence[Step]) -> list[str]:
    """Where the time of the best baselines went, and what stood in the way; a sentence each.

    Empty if there is a gain on the median day, or nothing was measured.
    """
    days = measured(steps)
    if not days or median(day.ratio for day in days) > 1.0:
        return []
    words = [_time_words(days)]
    rows = [day for day in days if day.busiest_every_us is not None]
    if rows:
        words += _row_words(rows)
    words.append(_searched_words(steps))
    return words


def _time_words(days: Sequence[NextDay]) -> str:
    aborts = median(day.abort_rate[day.best] for day in days)
    lost = median(day.to_conflicts for day in days)
    return (
        f"On the median day the best baseline aborts {aborts:.1%} of its attempts and loses "
        f"{lost:.0%} of the cores' time to conflicts (waiting, wasted work and backoff)."
    )


def _row_words(days: Sequence[NextDay]) -> list[str]:
    middle = median_low(day.busiest_every_us or 0.0 for day in days)
    day = next(one for one in days if one.busiest_every_us == middle)
    words = [
        f"The busiest row, of {day.busiest_table}, is written by {day.busiest_share:.1%} of the "
        f"transactions: under {day.best} every {middle:.2g} µs, where a whole transaction on a "
        f"core of its own takes {day.alone_us:.2g} µs ({day.day})."
    ]
    if middle < CLOSE * day.alone_us:
        words.append(
            "Writes of one row come one after the other under any policy, so there is little to "
            "gain while that row is so busy; splitting it would gain more."
        )
    return words


def _searched_words(steps: Sequence[Step]) -> str:
    trainings = [step.night.numbers["training"] for step in steps if _was_trained(step)]
    if not trainings:
        return "No night trained."
    tables = sum(training["evaluations"] for training in trainings)
    return (
        f"{len(trainings)} search{'' if len(trainings) == 1 else 'es'} measured {tables:,} tables "
        "in all; a longer one (search.seconds) may find more."
    )


def _was_trained(step: Step) -> bool:
    return "training" in step.night.numbers
