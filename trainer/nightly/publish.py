"""Publishing a policy in the store."""

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
    """Publish a policy in place of the current one; once, however often it is called.

    The policy is written to the history first, so the published policy is always in it. A policy
    that was published and replaced since is not published again.

    Args:
        state: the store.
        candidate: the policy.
        conditions: the conditions of its training.
        keep: the number of earlier policies to keep in the history.

    Raises:
        StateError: the published policy is damaged.
        WritingError: it can't be written; the policy published before stays.
    """
    if (found := publication_of(state, candidate, conditions)) is not None:
        return found
    before = state.served()
    if before is not None and not before.number:
        before = _adopted(state, before)
    newest = max(state.numbers(), default=0)
    replaces = before.number if before else None
    found = _numbered(candidate, newest, replaces, conditions)
    if state.saved_publication(newest) != found:  # else a killed process has written it already
        found = _numbered(candidate, newest + 1, replaces, conditions)
        write_policy(found.document, state.published(found.number))
    write_policy(found.document, state.policy)
    _forget(state, found, keep)
    return found


def publication_of(
    state: StateFolder, candidate: PolicyDocument, conditions: Conditions
) -> Publication | None:
    """Return the publication of a candidate, current or earlier; None if there is none.

    Raises:
        StateError: the published policy is damaged.
    """
    for publication in state.lineage():
        if publication == _numbered(
            candidate, publication.number, publication.replaces, conditions
        ):
            return publication
    return None


def _numbered(
    candidate: PolicyDocument, number: int, replaces: int | None, conditions: Conditions
) -> Publication:
    """Return a candidate with the provenance of a publication."""
    known = {"number": number, "replaces": replaces, "trained_for": conditions.as_dict()}
    document = replace(candidate, provenance={**candidate.provenance, PROVENANCE: known})
    return Publication(document, number, replaces, conditions)


def _adopted(state: StateFolder, found: Publication) -> Publication:
    """Add a policy to the history that was put in place by other means."""
    numbers = sorted(state.numbers())
    for number in numbers:
        if state.saved_publication(number) == found:  # a killed process has added it already
            return replace(found, number=number)
    number = max(numbers, default=0) + 1
    write_policy(found.document, state.published(number))
    return replace(found, number=number)


def _forget(state: StateFolder, served: Publication, keep: int) -> None:
    """Remove policies beyond `keep` rollbacks; keep damaged files for inspection."""
    kept = {publication.replaces for publication in islice(state.lineage(), keep)} | {served.number}
    for number in set(state.numbers()) - kept:
        with contextlib.suppress(OSError):
            state.published(number).unlink()


def load_candidate(path: Path) -> PolicyDocument:
    """Load the candidate of a night.

    Raises:
        StateError: it is damaged.
    """
    try:
        return load(path)
    except PolicyFileError as error:
        raise StateError(f"{error}\nRemove {path.parent} to run the night again") from None
