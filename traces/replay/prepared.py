"""Caches replay programs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from tempfile import gettempdir

from traces.errors import TraceError, why
from traces.manifest import FILE_NAME
from traces.output import bar
from traces.reader import Trace, open_trace
from traces.replay.make import make_program
from traces.replay.part import Part, choose_part
from traces.replay.program import VERSION


def prepared_program(
    folder: Path | str,
    day: str | None = None,
    hours: str | None = None,
    exclude: Sequence[str] = (),
) -> Path:
    """Return the replay program of a part of a trace, from the cache if its files are unchanged.

    Args:
        folder: the trace's folder.
        day: the day, see `traces.replay.part.choose_part`.
        hours: the hours, see `traces.replay.part.choose_part`.
        exclude: names of transaction types that are not replayed.

    Returns:
        The program's path in `cache_folder()`, or in a temporary folder if that is not writable.

    Raises:
        TraceError: the trace or the part is missing or can't be replayed, or the program can't be
            written.
    """
    trace = open_trace(folder)
    part = choose_part(trace, day, hours, exclude)
    name = _name(trace, part)
    kept = [folder / name for folder in (cache_folder(), _temporary_folder())]
    for path in kept:
        if path.is_file():
            return path
    path = _writable_folder() / name
    make_shown(trace, part, path)
    return path


def make_shown(trace: Trace, part: Part, path: Path) -> dict[str, int]:
    """Make a program as `make_program` does, and show a progress bar."""
    total = sum(trace.transactions(day) for day in part.days)
    whole_days = part.end_us - part.first_us > 3_600_000_000
    with bar("preparing the replay", 2 * total if whole_days else None) as shown:
        return make_program(trace, part, path, lambda done: shown.update(done, ""))


def cache_folder() -> Path:
    """Return the folder of cached programs, all of which may be removed."""
    try:
        above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # the user has no home directory
        return _temporary_folder()
    return Path(above) / "heddle" / "replay"


def _temporary_folder() -> Path:
    """Return the folder that is used if there is no home directory, or it is not writable."""
    return Path(gettempdir()) / f"heddle-{os.getuid()}" / "replay"


def _writable_folder() -> Path:
    """Return the first of the folders that is writable, and create it if necessary.

    Raises:
        TraceError: none is writable.
    """
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
        reason = "is not writable"
    except OSError as error:
        reason = f"can't be created: {why(error)}"
    other = _temporary_folder()
    try:
        other.parent.mkdir(mode=0o700, exist_ok=True)
        other.mkdir(exist_ok=True)
        if other.parent.stat().st_uid == os.getuid() and os.access(other, os.W_OK):
            return other
        refused = "it belongs to another user"
    except OSError as error:
        refused = why(error)
    raise TraceError(
        f"{folder}: {reason}, and {other} can't be used either ({refused}); set XDG_CACHE_HOME to "
        "a writable folder"
    )


def _name(trace: Trace, part: Part) -> str:
    """Return a file name that differs if the paths, sizes or times of the part's files do."""
    digest = blake2b(digest_size=10)
    files = [trace.folder / FILE_NAME, *(path for day in part.days for path in trace.files(day))]
    digest.update(f"{VERSION} {part.first_us} {part.end_us} {part.excluded}".encode())
    for path in files:
        about = path.stat()
        place = path.absolute()
        digest.update(f"\n{place} {about.st_size} {about.st_mtime_ns}".encode())
    words = re.sub(r"[^\w.-]+", "-", trace.manifest.name)[:60]
    return f"{words}-{digest.hexdigest()}.program"
