"""`heddle nightly` in a process that kills itself: `python -m ….killed_night MOMENT SETTING…`.

The SIGKILL comes at a point of the code, so that every run is killed at the same moment.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from envs import Comparison, Subject
from tests.trainer.nightly.test_judge import blocks
from trainer.checkpoint import Checkpoint
from trainer.command.main import main
from trainer.nightly import night, promotion, publish, rollback
from trainer.nightly.judge import CANDIDATE


class Moment(StrEnum):
    """The moment of the kill."""

    TRAINING = "training"
    """The first generation was just saved."""
    SERVING = "serving"
    """The policy is in the history but is not served yet."""
    WRITING = "writing"
    """The policy is written but not renamed to the served file."""
    SERVED = "served"
    """The policy is served but the night is not recorded."""
    ROLLING_BACK = "rolling back"
    """With --rollback: the intent is written but not carried out."""
    ROLLED_BACK = "rolled back"
    """With --rollback: the previous policy is served but the log lacks an entry."""


def candidate_is_better(
    config: Any,
    hours: Sequence[str],
    subjects: Sequence[Subject],
    display: Any,
    objective: Any,
) -> list[Comparison]:
    """Return measurements in which the candidate is better."""
    others = {one.name: 100.0 for one in subjects if one.name != CANDIDATE}
    return blocks([118, 120, 122], **others)


def arm(moment: Moment) -> None:
    """Patch the function at which the process is killed."""
    match moment:
        case Moment.TRAINING:
            _kill(Checkpoint, "save", after=lambda state, folder: state.history)
        case Moment.SERVING:
            _kill(publish, "write_policy", before=lambda document, path: _is_served(path))
        case Moment.WRITING:
            _kill(Path, "replace", before=lambda temporary, path: _is_served(path))
        case Moment.SERVED:
            _kill(promotion, "publish", after=lambda *_: True)
        case Moment.ROLLING_BACK:
            _kill(rollback, "write_policy", before=lambda *_: True)
        case Moment.ROLLED_BACK:
            _kill(rollback, "log", before=lambda *_: True)


def _is_served(path: Path) -> bool:
    """Whether a path is the served policy, not a training's."""
    return path.name == "policy.json" and (path.parent / "nights").is_dir()


def _kill(
    where: Any,
    name: str,
    before: Callable[..., Any] = lambda *_: False,
    after: Callable[..., Any] = lambda *_: False,
) -> None:
    """Kill the process before or after a call for which the condition holds."""
    real = getattr(where, name)

    def call(*given: Any) -> Any:
        if before(*given):
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*given)
        if after(*given):
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(where, name, call)


if __name__ == "__main__":
    night.measure_blocks = candidate_is_better
    arm(Moment(sys.argv[1]))
    sys.argv[:2] = ["heddle", "nightly"]
    main()
