"""`heddle nightly` in a process that kills itself: `python -m ….killed_night MOMENT SETTING…`.

The SIGKILL comes at a point of the code, and so at the same moment every time.
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
    """When it is killed."""

    TRAINING = "training"
    """Its first generation has just been kept."""
    SERVING = "serving"
    """The history has the policy, and it is not served."""
    WRITING = "writing"
    """It is written to be served, and not renamed."""
    SERVED = "served"
    """It is served, and the night does not say so."""
    GOING_BACK = "going back"
    """With --rollback: what is to be done is written ahead, and not done."""
    GONE_BACK = "gone back"
    """With --rollback: the policy before is served, and the log does not say so."""


def candidate_is_better(
    config: Any, hours: Sequence[str], subjects: Sequence[Subject], display: Any
) -> list[Comparison]:
    """What a night measures where the candidate is given to be better."""
    others = {one.name: 100.0 for one in subjects if one.name != CANDIDATE}
    return blocks([118, 120, 122], **others)


def arm(moment: Moment) -> None:
    """Put the kill in its place."""
    match moment:
        case Moment.TRAINING:
            _kill(Checkpoint, "save", after=lambda state, folder: state.history)
        case Moment.SERVING:
            _kill(publish, "write_policy", before=lambda document, path: _is_served(path))
        case Moment.WRITING:
            _kill(Path, "replace", before=lambda beside, path: _is_served(path))
        case Moment.SERVED:
            _kill(promotion, "publish", after=lambda *_: True)
        case Moment.GOING_BACK:
            _kill(rollback, "write_policy", before=lambda *_: True)
        case Moment.GONE_BACK:
            _kill(rollback, "log", before=lambda *_: True)


def _is_served(path: Path) -> bool:
    """The state's policy, and not a training's."""
    return path.name == "policy.json" and (path.parent / "nights").is_dir()


def _kill(
    where: Any,
    name: str,
    before: Callable[..., Any] = lambda *_: False,
    after: Callable[..., Any] = lambda *_: False,
) -> None:
    """Before or after a call for which that is said."""
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
