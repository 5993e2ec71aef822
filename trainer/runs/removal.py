"""Removing a run: its folder, atomically, and its record."""

from __future__ import annotations

import shutil
from pathlib import Path

from policies.errors import write_failure_reason
from trainer.checkpoint import WritingError
from trainer.lock import held
from trainer.run_folder import RunFolder

REMOVED = ".removed-"
"""Prefix of a folder's name during its removal: no command takes it for a run."""


def remove_run(run: RunFolder) -> None:
    """Remove a run's folder.

    It is renamed first, so that an interrupted removal leaves no partial run. The next removal in
    the same folder completes it.

    Raises:
        HeldError: a process uses the run.
        WritingError: it can't be removed.
    """
    path = run.path.resolve()
    aside = path.with_name(f"{REMOVED}{path.name}")
    try:
        with held(path):
            path.rename(aside)
        for left in path.parent.glob(f"{REMOVED}*"):
            shutil.rmtree(left)
    except OSError as error:
        raise WritingError(
            f"{run.path}: can't be removed: {write_failure_reason(error)}"
        ) from error


def size_words(count: int) -> str:
    """Format a number of bytes."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def refuse_link(path: Path) -> str | None:
    """Return why a link is not removed: its target may be in use elsewhere."""
    return f"{path}: is a link; remove the folder that it leads to" if path.is_symlink() else None
