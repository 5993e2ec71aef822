"""Rolling back to the policy published before.

The plan is first written to `rollback.json`. Then the policy is published, the log gets its line,
and the file is removed. If a process is killed meanwhile, the next one completes the rollback.
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
    """The plan of a rollback.

    Attributes:
        why: the restored and the replaced policy, for display.
        served: the number of the restored policy in the history.
        at: time of the request (UTC).
        left: the digest of the replaced policy (`Publication.digest`).
        reached: the digest of the restored policy.
    """

    why: str
    served: int
    at: str
    left: str
    reached: str


def roll_back(state: StateFolder) -> Rollback:
    """Restore the policy that was published before.

    If a killed process has left a rollback, only that one is completed. The caller holds the store.

    Raises:
        StateError: there is no earlier policy, or it is damaged.
        WritingError: a file can't be written; the published policy stays.
    """
    begun = _written_ahead(state)
    if begun is not None and _end(state, begun):
        return begun
    served = state.served()
    if served is None:
        raise StateError(f"state={state.path}: no policy is published yet")
    if served.replaces is None:
        raise StateError(f"state={state.path}: {served.words} is the first published policy")
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
    """Complete the rollback of a killed process; the caller holds the store.

    Raises:
        StateError: the plan, or the published policy, is damaged.
        WritingError: a file can't be written; the published policy stays.
    """
    begun = _written_ahead(state)
    if begun is not None:
        _end(state, begun)


def _end(state: StateFolder, step: Rollback) -> bool:
    """Execute the plan; False if another policy has been published since."""
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
            f"{state.rollback}: is not written by heddle nightly: {error!r}\nRemove it, and run "
            "the rollback again if needed"
        ) from None


def _publication(state: StateFolder, number: int) -> Publication:
    path = state.published(number)
    if not path.exists():
        raise StateError(
            f"{path}: is no longer kept; keep_policies sets how many are. To restore another "
            f"policy, copy it to {state.policy}"
        )
    return read_publication(path)
