"""The statistics as JSON documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from traces.statistics.days import Day
from traces.statistics.hours import Hour
from traces.statistics.measure import TraceStatistics
from traces.statistics.prediction import LARGE_ERROR, Prediction, distribution

SCHEMA_VERSION = 1


def stats_document(found: TraceStatistics) -> dict[str, Any]:
    """Return all hours of all days."""
    return _headed(
        found,
        days=[
            {
                "date": day.date.isoformat(),
                "invalid": day.invalid,
                "hours": [_hour(hour) for hour in day.hours],
            }
            for day in found.days
        ],
    )


def peaks_document(found: TraceStatistics) -> dict[str, Any]:
    """Return the peak hours of the valid days, and the reasons of the invalid ones."""
    return _headed(
        found,
        peaks=[{"date": day.date.isoformat(), **_hour(day.peak)} for day in found.valid_days],
        invalid_days=_invalid(found.days),
    )


def predict_document(
    found: TraceStatistics, predictions: Sequence[Prediction], threshold: float
) -> dict[str, Any]:
    """Return the predictions, the distribution of their errors, and the retrainings.

    An infinite error, which occurs if only the previous day had no conflicts, becomes null.
    """
    errors = [one.error for one in predictions]
    return _headed(
        found,
        threshold=threshold,
        predictions=[
            {
                "date": one.date.isoformat(),
                "predicted": one.predicted,
                "actual": one.actual,
                "error": _finite(one.error),
                "trained_for": one.trained_for,
                "retrained": one.retrained,
            }
            for one in predictions
        ],
        error_distribution=[
            {"error": _finite(error), "share": share} for error, share in distribution(errors)
        ],
        days_with_large_error=[
            one.date.isoformat() for one in predictions if one.error > LARGE_ERROR
        ],
        retrainings=[one.date.isoformat() for one in predictions if one.retrained],
        invalid_days=_invalid(found.days),
    )


def _headed(found: TraceStatistics, **rest: Any) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "trace": found.name,
        "synthetic": found.synthetic,
        "window_minutes": found.window_minutes,
        **rest,
    }


def _hour(hour: Hour) -> dict[str, Any]:
    return {
        "hour": hour.begin.hour,
        "requests": hour.total,
        "requests_by_type": dict(hour.requests),
        "conflict_rate": hour.conflict_rate,
    }


def _invalid(days: Sequence[Day]) -> list[dict[str, Any]]:
    return [
        {"date": day.date.isoformat(), "reason": day.invalid}
        for day in days
        if day.invalid is not None
    ]


def _finite(error: float) -> float | None:
    return error if math.isfinite(error) else None
