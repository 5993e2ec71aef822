"""Publishing the candidate of a night, completely even if a process is killed meanwhile.

The night's record has the outcome `promoting` before its policy is published, and `promoted` after.
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
    """Publish the candidate, once, even if called again after a kill.

    Raises:
        StateError: the published policy, or the candidate, is damaged.
        WritingError: a file can't be written.
    """
    return _ended(state, night, publish(state, *_judged_better(state, night), keep_policies))


def served_by(state: StateFolder, night: Night) -> Publication | None:
    """Return the policy that a night published, even if replaced since; None if none.

    Raises:
        StateError: the published policy, or the candidate, is damaged.
    """
    return publication_of(state, *_judged_better(state, night))


def end_served(state: StateFolder) -> None:
    """Complete the records of killed nights whose policy was published.

    Otherwise, after a rollback, the night's next run would publish the policy again.

    Raises:
        StateError: the published policy is damaged.
        WritingError: a file can't be written.
    """
    for day in state.days():
        night = read_night(state.night(day))
        if night is None or night.outcome is not Outcome.PROMOTING:
            continue
        try:
            served = served_by(state, night)
        except StateError:  # the candidate is damaged: the night is run again
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
