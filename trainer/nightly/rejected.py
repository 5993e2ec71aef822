"""Nights with a rejected candidate, whose training need not be repeated soon."""

from __future__ import annotations

from datetime import date

from policies import PolicyFileError, Signature, load
from traces.statistics.prediction import relative_difference
from trainer.nightly.conditions import Conditions
from trainer.nightly.nights import read_night
from trainer.nightly.outcome import Outcome
from trainer.nightly.state import Publication, StateFolder


def last_rejected_day(
    state: StateFolder,
    champion: Publication | None,
    today: Conditions,
    signature: Signature,
    threshold: float,
    retrain_after: int | None,
) -> date | None:
    """Return the last day before this one, under conditions like today's, with a rejection.

    Args:
        state: the store; a night whose folder was removed does not count.
        champion: the published policy; rejections against another one do not count.
        today: today's peak.
        signature: of today's workload.
        threshold: the relative difference of conflict rates below which conditions are alike.
        retrain_after: the number of days after which a rejection no longer counts; None: never.
    """
    for day in sorted(state.days(), reverse=True):
        passed = (today.day - day).days
        if retrain_after is not None and passed >= retrain_after:
            break
        trained_for = _rejected_conditions(state, day, champion, signature) if passed > 0 else None
        if trained_for is not None and _alike(today, trained_for, threshold):
            return day
    return None


def _rejected_conditions(
    state: StateFolder, day: date, champion: Publication | None, signature: Signature
) -> Conditions | None:
    """Return a day's conditions if its candidate lost to this champion."""
    folder = state.night(day)
    night = read_night(folder)
    if night is None or night.outcome is not Outcome.KEPT:
        return None
    if night.numbers.get("champion") != (champion.digest if champion else None):
        return None
    try:
        if load(folder.candidate).signature != signature:
            return None
        return Conditions.from_dict(night.numbers["conditions"])
    except (PolicyFileError, KeyError, TypeError, ValueError):
        return None


def _alike(today: Conditions, before: Conditions, threshold: float) -> bool:
    return relative_difference(today.conflict_rate, before.conflict_rate) < threshold
