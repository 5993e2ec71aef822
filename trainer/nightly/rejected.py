"""Nights whose candidate was rejected: under similar conditions a training would repeat them."""

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
    """The last day before this one, in conditions like today's, whose candidate was rejected.

    Args:
        state: of the nights; one whose folder was removed is forgotten.
        champion: the policy that is served; what lost to another one says nothing.
        today: the peak that is to be trained for.
        signature: of today's workload.
        threshold: conditions are alike where their conflict rates differ by less.
        retrain_after: trainings that lie so many days back no longer count; None if all do.
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
    """What a day's candidate was trained for, if it lost to this champion."""
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
