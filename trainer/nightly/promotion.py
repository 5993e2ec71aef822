"""Serving the candidate of a night that was judged better, to the end, whoever was killed at it.

The night's record, `promoting`, is written before its policy is served, and `promoted` after.
"""

from __future__ import annotations

from dataclasses import replace

from policies import PolicyDocument
from trainer.nightly.conditions import Conditions
from trainer.nightly.errors import StateError
from trainer.nightly.nights import Night, keep, read_night
from trainer.nightly.outcome import Outcome
from trainer.nightly.publish import load_candidate, publication_of, publish
from trainer.nightly.state import Publication, StateFolder


def promote(state: StateFolder, night: Night, keep_policies: int) -> Night:
    """Serve the candidate; asked again after it was killed, it does so once.

    Raises:
        StateError: the policy that is served, or the candidate, is damaged.
        WritingError: a file can't be written.
    """
    return _ended(state, night, publish(state, *_judged_better(state, night), keep_policies))


def served_by(state: StateFolder, night: Night) -> Publication | None:
    """What a night that was judged better serves, or served before another one; None if nothing.

    Raises:
        StateError: the policy that is served, or the candidate, is damaged.
    """
    return publication_of(state, *_judged_better(state, night))


def end_served(state: StateFolder) -> None:
    """Let nights say that they served their policy, which were killed before they did.

    Who goes back from such a policy would else have it served again by the night's next run.

    Raises:
        StateError: the policy that is served is damaged.
        WritingError: a file can't be written.
    """
    for day in state.days():
        night = read_night(state.night(day))
        if night is None or night.outcome is not Outcome.PROMOTING:
            continue
        try:
            served = served_by(state, night)
        except StateError:  # of its candidate: the night is had anew
            state.served()
            continue
        if served is not None:
            _ended(state, night, served)


def _judged_better(state: StateFolder, night: Night) -> tuple[PolicyDocument, Conditions]:
    candidate = load_candidate(state.night(night.day).candidate)
    return candidate, Conditions.from_dict(night.numbers["conditions"])


def _ended(state: StateFolder, night: Night, served: Publication) -> Night:
    numbers = {**night.numbers, "served": served.number}
    promoted = replace(night, outcome=Outcome.PROMOTED, numbers=numbers)
    keep(state, promoted)
    return promoted
