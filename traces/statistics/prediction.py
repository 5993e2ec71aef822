"""Tomorrow's peak hour from today's, and when to retrain (OSDI 2021, sections 5.3 and 7.6.1).

Invalid days are left out: the day before a day is the last valid one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from traces.statistics.days import Day

RETRAINING_THRESHOLD = 0.15
"""The paper's: how far the predicted conflict rate is from the one that was trained for."""

LARGE_ERROR = 0.20
"""The paper's: errors above it are worth a look."""


@dataclass(frozen=True)
class Prediction:
    """What was predicted for a day's peak hour, and what came.

    Attributes:
        date: the day predicted.
        predicted: conflict rate of the peak hour of the day before.
        actual: conflict rate of the day's peak hour.
        trained_for: conflict rate that the policy of the day is trained for.
        retrained: whether it was trained in the night before the day. The first policy of all is
            not counted as a retraining.
    """

    date: date
    predicted: float
    actual: float
    trained_for: float
    retrained: bool

    @property
    def error(self) -> float:
        """The paper's error rate, abs((tomorrow - today) / today); infinite if only today is 0."""
        return relative_difference(self.actual, self.predicted)


def relative_difference(value: float, reference: float) -> float:
    """How far a value is from a reference, relative to it; 0 if both are 0."""
    if value == reference:
        return 0.0
    return abs((value - reference) / reference) if reference else math.inf


def predictions_of(
    days: Sequence[Day], threshold: float = RETRAINING_THRESHOLD
) -> tuple[Prediction, ...]:
    """Predict each day but the first, and retrain when the prediction is too far from the trained.

    Args:
        days: valid ones, in order, whose peak hours have a conflict rate.
        threshold: retrain from this relative difference on.
    """
    predictions: list[Prediction] = []
    rates = [_rate(day) for day in days]
    trained_for = rates[0] if rates else 0.0
    for day, predicted, actual in zip(days[1:], rates, rates[1:], strict=False):
        retrain = relative_difference(predicted, trained_for) >= threshold
        if retrain:
            trained_for = predicted
        predictions.append(Prediction(day.date, predicted, actual, trained_for, retrain))
    return tuple(predictions)


def distribution(errors: Sequence[float]) -> list[tuple[float, float]]:
    """The cumulative distribution of errors: pairs of an error and the share that is no larger."""
    ordered = sorted(errors)
    return [(error, at / len(ordered)) for at, error in enumerate(ordered, start=1)]


def _rate(day: Day) -> float:
    rate = day.peak.conflict_rate
    if rate is None:
        raise ValueError(f"{day.date}: its peak hour has no conflict rate")
    return rate
