"""Predicts tomorrow's peak hour from today's, and when to retrain (OSDI 2021, sections 5.3, 7.6.1).

Invalid days are excluded: the day before a day is the last valid one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from traces.statistics.days import Day

RETRAINING_THRESHOLD = 0.15
"""The paper's threshold for the relative difference between predicted and trained conflict rate."""

LARGE_ERROR = 0.20
"""The paper's limit above which an error is large."""


@dataclass(frozen=True)
class Prediction:
    """The prediction of a day's peak hour, and the outcome.

    Attributes:
        date: the predicted day.
        predicted: conflict rate of the previous day's peak hour.
        actual: conflict rate of the day's peak hour.
        trained_for: conflict rate that the day's policy is trained for.
        retrained: whether a policy was trained in the night before the day; the first policy does
            not count.
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
    """Return the relative difference of a value from a reference; 0 if both are 0."""
    if value == reference:
        return 0.0
    return abs((value - reference) / reference) if reference else math.inf


def predictions_of(
    days: Sequence[Day], threshold: float = RETRAINING_THRESHOLD
) -> tuple[Prediction, ...]:
    """Predict each day but the first, and retrain if the prediction differs from the trained rate.

    Args:
        days: valid days in order, whose peak hours have a conflict rate.
        threshold: the smallest relative difference that triggers a retraining.
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
    """Return the cumulative distribution: pairs of an error and the share that is not larger."""
    ordered = sorted(errors)
    return [(error, at / len(ordered)) for at, error in enumerate(ordered, start=1)]


def _rate(day: Day) -> float:
    rate = day.peak.conflict_rate
    if rate is None:
        raise ValueError(f"{day.date}: its peak hour has no conflict rate")
    return rate
