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
    errors = [prediction.error for prediction in predictions]
    return _headed(
        found,
        threshold=threshold,
        predictions=[
            {
                "date": prediction.date.isoformat(),
                "predicted": prediction.predicted,
                "actual": prediction.actual,
                "error": _finite(prediction.error),
                "trained_for": prediction.trained_for,
                "retrained": prediction.retrained,
            }
            for prediction in predictions
        ],
        error_distribution=[
            {"error": _finite(error), "share": share} for error, share in distribution(errors)
        ],
        days_with_large_error=[
            prediction.date.isoformat()
            for prediction in predictions
            if prediction.error > LARGE_ERROR
        ],
        retrainings=[
            prediction.date.isoformat() for prediction in predictions if prediction.retrained
        ],
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
