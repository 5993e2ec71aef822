"""Publishing a policy, and going back to the one before."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from policies import PolicyDocument, PolicyFileError, load, save
from trainer.checkpoint import WritingError
from trainer.nightly.conditions import Conditions
from trainer.nightly.errors import StateError
from trainer.nightly.state import PROVENANCE, Publication, StateFolder, read_publication


def publish(
    state: StateFolder, candidate: PolicyDocument, conditions: Conditions, keep: int
) -> Publication:
    """Serve a policy in place of the one that is served; once for a day, however often it is asked.

    The history gets it first: what is served can always be found there.

    Args:
        state: where.
        candidate: the policy.
        conditions: that it was trained for.
        keep: so many policies that were served before stay in the history.

    Raises:
        StateError: the policy that is served is damaged.
        WritingError: it can't be written; the one before is served.
    """
    before = state.served()
    if before is not None and before.conditions == conditions:
        return before
    if before is not None and not before.number:
        before = _adopted(state, before)
    number = max(state.numbers(), default=0) + 1
    replaces = before.number if before else None
    known = {"number": number, "replaces": replaces, "trained_for": conditions.as_dict()}
    document = replace(candidate, provenance={**candidate.provenance, PROVENANCE: known})
    _save(document, state.published(number))
    _save(document, state.policy)
    found = Publication(document, number, replaces, conditions)
    _forget(state, found, keep)
    return found


def roll_back(state: StateFolder) -> tuple[Publication, Publication]:
    """Serve the policy that was served before.

    Returns:
        The one that was served, and the one that is.

    Raises:
        StateError: there is none before it, or it is damaged.
        WritingError: it can't be written; what was served is.
    """
    served = state.served()
    if served is None:
        raise StateError(f"state={state.path}: no policy is served yet")
    if served.replaces is None:
        raise StateError(f"state={state.path}: {served.words} is the first that was served")
    path = state.published(served.replaces)
    if not path.exists():
        raise StateError(
            f"{path}: is no longer kept; more are with keep_policies. A policy of another place "
            f"can be copied to {state.policy}"
        )
    before = read_publication(path)
    _save(before.document, state.policy)
    return served, before


def _adopted(state: StateFolder, found: Publication) -> Publication:
    """A policy that was put there by other means, in the history."""
    number = max(state.numbers(), default=0) + 1
    _save(found.document, state.published(number))
    return replace(found, number=number)


def _forget(state: StateFolder, served: Publication, keep: int) -> None:
    """Remove what can't be gone back to in so many steps."""
    kept = {served.number}
    at: Publication | None = served
    for _ in range(keep):
        if at is None or at.replaces is None or not state.published(at.replaces).exists():
            break
        kept.add(at.replaces)
        try:
            at = read_publication(state.published(at.replaces))
        except StateError:  # it can still be looked at
            at = None
    for number in set(state.numbers()) - kept:
        with contextlib.suppress(OSError):
            state.published(number).unlink()


def _save(document: PolicyDocument, path: Path) -> None:
    try:
        save(document, path)
    except PolicyFileError as error:
        raise WritingError(str(error)) from error


def load_candidate(path: Path) -> PolicyDocument:
    """The candidate of a night.

    Raises:
        StateError: it is damaged.
    """
    try:
        return load(path)
    except PolicyFileError as error:
        raise StateError(f"{error}\nRemove {path.parent} to have the night anew") from None
