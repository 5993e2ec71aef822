"""The defaults of `heddle trace synth` reproduce Wang et al., OSDI 2021, section 7.6.1.

Conflict rates are counted from the requests themselves, and only in the peak hours, because the
trace has ten million requests. docs/trace-statistics.md has the figures of the commands. The bounds
permit another seed: they fail if the model changes, but not if numpy's random stream does.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from statistics import median

import numpy as np
import pytest

from traces.statistics.days import Day, valid, validated
from traces.statistics.hours import Hour
from traces.statistics.prediction import LARGE_ERROR, predictions_of
from traces.synthesis.requests import MINUTE_US, Requests
from traces.synthesis.settings import Settings
from traces.synthesis.shop import requests_of_days


def conflict_rate(requests: Requests, hour: int) -> float:
    """Return an hour's rate as in the paper: different users, one product, five minutes."""
    minutes = requests.begin // MINUTE_US
    first, end = np.searchsorted(minutes, [60 * hour, 60 * (hour + 1)])
    window = (minutes[first:end] - 60 * hour) // 5
    product, customer = requests.product[first:end], requests.customer[first:end]
    order = np.lexsort((product, window))
    window, product, customer = window[order], product[order], customer[order]
    changes = (np.diff(window) != 0) | (np.diff(product) != 0)
    begins = np.flatnonzero(np.concatenate([[True], changes]))
    several = np.minimum.reduceat(customer, begins) != np.maximum.reduceat(customer, begins)
    conflicting = np.repeat(several, np.diff([*begins, len(window)]))
    met = np.bincount(window[conflicting], minlength=12)
    return float((met / np.bincount(window, minlength=12)).mean())


def measured(day: date, requests: Requests) -> Day:
    """Return a day whose peak hour has a conflict rate."""
    counts = np.bincount(requests.begin // (60 * MINUTE_US), minlength=24)
    peak = int(counts.argmax())
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    hours = (
        Hour(
            midnight + timedelta(hours=hour),
            {"requests": int(counts[hour])},
            conflict_rate(requests, hour) if hour == peak and counts[hour] else None,
        )
        for hour in range(24)
    )
    return Day(day, tuple(hours))


@pytest.mark.slow
def test_the_figures_of_the_paper() -> None:
    days = validated([measured(*of_day) for of_day in requests_of_days(Settings())])
    assert (len(days), len(valid(days))) == (203, 197)
    predictions = predictions_of(valid(days))
    assert len(predictions) == 196
    errors = [one.error for one in predictions]
    assert 2 <= sum(error > LARGE_ERROR for error in errors) <= 5  # the paper's: 3
    assert 10 <= sum(one.retrained for one in predictions) <= 20  # the paper's: 15
    assert median(errors) < 0.06
