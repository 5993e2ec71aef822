"""The verdict of a backtest, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, median_low

from trainer.backtest.next_day import NextDay
from trainer.backtest.step import Step
from trainer.nightly.outcome import Outcome

CLOSE = 3.0
"""A row limits throughput if the interval between its writes is below this multiple of the duration
of a transaction that runs alone."""


@dataclass(frozen=True)
class Verdict:
    """The result over all measured days.

    Attributes:
        days: the number of days.
        ratio: the median over the days of the ratio to the day's best baseline.
        better: days on which the whole interval is above 1.
        worse: days on which the whole interval is below 1.
        trained: the number of nights that trained.
        promoted: the number of nights whose candidate was published.
    """

    days: int
    ratio: float
    better: int
    worse: int
    trained: int
    promoted: int

    @property
    def line(self) -> str:
        """The result in a line."""
        return (
            f"{self.ratio:.3f} × the best baseline of the day, median over {self.days} "
            f"day{'' if self.days == 1 else 's'}: significantly better on {self.better}, worse on "
            f"{self.worse}; {self.trained} trained, {self.promoted} published"
        )


def verdict_of(steps: Sequence[Step]) -> Verdict | None:
    """Return the verdict; None if no day could be measured."""
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
    """Return the measured days."""
    return [step.next_day for step in steps if step.next_day is not None]


def no_gain_reasons(steps: Sequence[Step]) -> list[str]:
    """Explain, a sentence each, where the best baselines lost time and what limits a gain.

    Empty if the median day has a gain, or nothing was measured.
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
    day = next(day for day in days if day.busiest_every_us == middle)
    words = [
        f"The busiest row, of {day.busiest_table}, is written by {day.busiest_share:.1%} of the "
        f"transactions: every {middle:.2g} µs under {day.best}, while a whole transaction that "
        f"runs alone takes {day.alone_us:.2g} µs ({day.day})."
    ]
    if middle < CLOSE * day.alone_us:
        words.append(
            "Any policy must serialize the writes of a row, so there is little to gain while this "
            "row is so busy; splitting it would gain more."
        )
    return words


def _searched_words(steps: Sequence[Step]) -> str:
    trainings = [step.night.numbers["training"] for step in steps if _was_trained(step)]
    if not trainings:
        return "No night trained."
    tables = sum(training["evaluations"] for training in trainings)
    return (
        f"{len(trainings)} search{'' if len(trainings) == 1 else 'es'} measured {tables:,} tables "
        "in total; a longer search (search.seconds) may find more."
    )


def _was_trained(step: Step) -> bool:
    return "training" in step.night.numbers
