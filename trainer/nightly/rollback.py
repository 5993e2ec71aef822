"""Going back to the policy that was served before.

What is to be done is written ahead, to `rollback.json`; then the policy is served, the log gets its
line, and the file goes. Where a process was killed in between, the next one ends it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from policies.errors import write_failure_reason
from trainer.checkpoint import WritingError, write_atomically
from trainer.nightly.errors import StateError
from trainer.nightly.nights import log
from trainer.nightly.promotion import end_served
from trainer.nightly.state import Publication, StateFolder, read_publication, write_policy


@dataclass(frozen=True)
class Rollback:
    """A step back.

    Attributes:
        why: from what to what, for people.
        served: the number in the history of the policy that is gone back to.
        at: when it was asked for (UTC).
        left: the digest of the policy that is gone back from (`Publication.digest`) …
        reached: … and of the other one.
    """

    why: str
    served: int
    at: str
    left: str
    reached: str


def roll_back(state: StateFolder) -> Rollback:
    """Serve the policy that was served before.

    Where a process was killed at it, that one is ended instead, and not a further step made. The
    caller holds the state's folder.

    Raises:
        StateError: there is none before it, or it is damaged.
        WritingError: it can't be written; what was served is.
    """
    begun = _written_ahead(state)
    if begun is not None and _end(state, begun):
        return begun
    served = state.served()
    if served is None:
        raise StateError(f"state={state.path}: no policy is served yet")
    if served.replaces is None:
        raise StateError(f"state={state.path}: {served.words} is the first that was served")
    before = _publication(state, served.replaces)
    end_served(state)
    found = Rollback(
        why=f"{before.words}, in place of {served.words}",
        served=served.replaces,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        left=served.digest,
        reached=before.digest,
    )
    write_atomically(state.rollback, json.dumps(asdict(found), indent=1) + "\n")
    _end(state, found)
    return found


def end_killed(state: StateFolder) -> None:
    """Bring to its end what a process was killed at; the caller holds the state's folder.

    Raises:
        StateError: what was written ahead, or the policy that is served, is damaged.
        WritingError: it can't be written; what was served is.
    """
    begun = _written_ahead(state)
    if begun is not None:
        _end(state, begun)


def _end(state: StateFolder, step: Rollback) -> bool:
    """Do what was written ahead; False: another policy is served by now, so it is of no use."""
    served = state.served()
    digest = served.digest if served else None
    if digest == step.left:
        write_policy(_publication(state, step.served).document, state.policy)
    here = digest in (step.left, step.reached)
    if here:
        line = {"outcome": "rolled back", "why": step.why, "served": step.served, "at": step.at}
        log(state, line)
    try:
        state.rollback.unlink()
    except OSError as error:
        raise WritingError(
            f"{state.rollback}: can't be removed: {write_failure_reason(error)}"
        ) from None
    return here


def _written_ahead(state: StateFolder) -> Rollback | None:
    if not state.rollback.exists():
        return None
    try:
        found: Any = json.loads(state.rollback.read_text(encoding="utf-8"))
        words = {key: str(found[key]) for key in ("why", "at", "left", "reached")}
        return Rollback(served=int(found["served"]), **words)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise StateError(
            f"{state.rollback}: is not what heddle nightly writes: {error!r}\nRemove it, and go "
            "back again if that is still wanted"
        ) from None


def _publication(state: StateFolder, number: int) -> Publication:
    path = state.published(number)
    if not path.exists():
        raise StateError(
            f"{path}: is no longer kept; more are with keep_policies. A policy of another place "
            f"can be copied to {state.policy}"
        )
    return read_publication(path)
