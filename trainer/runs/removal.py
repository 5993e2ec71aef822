"""Removing runs: the folder at once or not at all, and the record of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from policies.errors import write_failure_reason
from trainer.checkpoint import WritingError
from trainer.lock import held
from trainer.run_folder import RunFolder

REMOVED = ".removed-"
"""What the name of a folder begins with while it is removed: no command takes it for a run."""


def remove_run(run: RunFolder) -> None:
    """Remove a run's folder.

    It is renamed first: a removal that is cut short leaves no half of a run, and the next removal
    beside it ends it.

    Raises:
        HeldError: a process is working there.
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
        raise WritingError(f"{run.path}: can't be removed: {write_failure_reason(error)}") from error


def size_words(count: int) -> str:
    """Bytes in words."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def refuse_link(path: Path) -> str | None:
    """Why a folder is not removed: a link leads to one that may be elsewhere in use."""
    return f"{path}: is a link; remove the folder that it leads to" if path.is_symlink() else None
