"""Publishing a policy."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from itertools import islice
from pathlib import Path

from policies import PolicyDocument, PolicyFileError, load
from trainer.nightly.conditions import Conditions
from trainer.nightly.errors import StateError
from trainer.nightly.state import PROVENANCE, Publication, StateFolder, write_policy


def publish(
    state: StateFolder, candidate: PolicyDocument, conditions: Conditions, keep: int
) -> Publication:
    """Serve a policy in place of the one that is served; once, however often it is asked.

    The history gets it first: what is served can always be found there. One that was served and
    replaced since is not served again.

    Args:
        state: where.
        candidate: the policy.
        conditions: that it was trained for.
        keep: so many policies that were served before stay in the history.

    Raises:
        StateError: the policy that is served is damaged.
        WritingError: it can't be written; the one before is served.
    """
    if (found := publication_of(state, candidate, conditions)) is not None:
        return found
    before = state.served()
    if before is not None and not before.number:
        before = _adopted(state, before)
    newest = max(state.numbers(), default=0)
    replaces = before.number if before else None
    found = _numbered(candidate, newest, replaces, conditions)
    if state.saved_publication(newest) != found:  # else a process was killed before it served it
        found = _numbered(candidate, newest + 1, replaces, conditions)
        write_policy(found.document, state.published(found.number))
    write_policy(found.document, state.policy)
    _forget(state, found, keep)
    return found


def publication_of(
    state: StateFolder, candidate: PolicyDocument, conditions: Conditions
) -> Publication | None:
    """A candidate as it is or was served; None if it was not.

    Raises:
        StateError: the policy that is served is damaged.
    """
    for one in state.lineage():
        if one == _numbered(candidate, one.number, one.replaces, conditions):
            return one
    return None


def _numbered(
    candidate: PolicyDocument, number: int, replaces: int | None, conditions: Conditions
) -> Publication:
    """A candidate as it is published."""
    known = {"number": number, "replaces": replaces, "trained_for": conditions.as_dict()}
    document = replace(candidate, provenance={**candidate.provenance, PROVENANCE: known})
    return Publication(document, number, replaces, conditions)


def _adopted(state: StateFolder, found: Publication) -> Publication:
    """A policy that was put there by other means, in the history."""
    numbers = sorted(state.numbers())
    for number in numbers:
        if state.saved_publication(number) == found:  # a process was killed after it had adopted it
            return replace(found, number=number)
    number = max(numbers, default=0) + 1
    write_policy(found.document, state.published(number))
    return replace(found, number=number)


def _forget(state: StateFolder, served: Publication, keep: int) -> None:
    """Remove what can't be gone back to in so many steps; what is damaged can be looked at."""
    kept = {one.replaces for one in islice(state.lineage(), keep)} | {served.number}
    for number in set(state.numbers()) - kept:
        with contextlib.suppress(OSError):
            state.published(number).unlink()


def load_candidate(path: Path) -> PolicyDocument:
    """The candidate of a night.

    Raises:
        StateError: it is damaged.
    """
    try:
        return load(path)
    except PolicyFileError as error:
        raise StateError(f"{error}\nRemove {path.parent} to have the night anew") from None
