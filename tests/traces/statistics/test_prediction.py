from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.statistics.days import Day
from traces.statistics.hours import Hour
from traces.statistics.prediction import distribution, predictions_of, relative_difference

FIRST = date(2019, 10, 7)


def days_of(rates: list[float | None]) -> list[Day]:
    days = []
    for number, rate in enumerate(rates):
        when = FIRST + timedelta(days=number)
        midnight = datetime(when.year, when.month, when.day, tzinfo=UTC)
        hours = [Hour(midnight + timedelta(hours=hour), {}, 0.0) for hour in range(24)]
        hours[20] = Hour(midnight + timedelta(hours=20), {"cart": 9}, rate)
        days.append(Day(when, tuple(hours)))
    return days


def test_the_error_matches_the_paper() -> None:
    found = predictions_of(days_of([0.4, 0.5, 0.25]))
    assert [one.error for one in found] == pytest.approx([0.25, 0.5])
    assert [one.date.day for one in found] == [8, 9]


def test_retraining_is_deferred_until_the_threshold() -> None:
    """The prediction is compared with the rate that the current policy was trained for."""
    found = predictions_of(days_of([1.00, 1.10, 1.14, 1.20, 1.10, 0.90, 0.90]), 0.15)
    assert [one.retrained for one in found] == [False, False, False, True, False, True]
    assert [one.trained_for for one in found] == [1.0, 1.0, 1.0, 1.2, 1.2, 0.9]


def test_slow_drift_adds_up_to_a_retraining() -> None:
    found = predictions_of(days_of([1.05**day for day in range(10)]), 0.15)
    assert [at for at, one in enumerate(found) if one.retrained] == [3, 6]


def test_a_conflict_rate_of_zero() -> None:
    found = predictions_of(days_of([0.0, 0.0, 0.1, 0.0]))
    assert [one.error for one in found] == [0.0, math.inf, 1.0]
    assert [one.retrained for one in found] == [False, False, True]


def test_one_day_predicts_nothing() -> None:
    assert predictions_of(days_of([0.4])) == ()
    assert predictions_of([]) == ()


def test_an_unknown_rate_is_rejected() -> None:
    with pytest.raises(ValueError, match="2019-10-08"):
        predictions_of(days_of([0.4, None]))


rates = st.lists(st.integers(1, 1000).map(lambda n: n / 1000), min_size=2, max_size=40)


@given(rates, st.floats(0.01, 1.0))
def test_no_policy_serves_a_prediction_beyond_the_threshold(
    drawn: list[float], threshold: float
) -> None:
    found = predictions_of(days_of(list(drawn)), threshold)
    for one in found:
        assert relative_difference(one.predicted, one.trained_for) < threshold
    changes = sum(a.trained_for != b.trained_for for a, b in pairwise(found))
    assert changes <= sum(one.retrained for one in found)


@given(rates)
def test_a_tiny_threshold_retrains_at_each_change(
    drawn: list[float],
) -> None:
    found = predictions_of(days_of(list(drawn)), 1e-15)
    assert [one.trained_for for one in found] == [one.predicted for one in found]


@given(st.lists(st.floats(0, 10), min_size=1))
def test_the_distribution_rises_to_one(errors: list[float]) -> None:
    found = distribution(errors)
    assert [error for error, _ in found] == sorted(errors)
    shares = [share for _, share in found]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
