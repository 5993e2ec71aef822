"""Replay programs that were made before, and are found again."""

from __future__ import annotations

import os
import re
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


def prepared_program(folder: Path | str, day: str | None = None, hours: str | None = None) -> Path:
    """The replay program of a part of a trace: made now, or before of the same files.

    Args:
        folder: the trace's.
        day: which part, see `traces.replay.part.choose_part`.
        hours: likewise.

    Returns:
        Where it lies, in `cache_folder()`, or in the folder of temporary files where that can't be
        written to.

    Raises:
        TraceError: there is no such trace or part, or it can't be replayed, or not be written.
    """
    trace = open_trace(folder)
    part = choose_part(trace, day, hours)
    name = _name(trace, part)
    kept = [folder / name for folder in (cache_folder(), _temporary_folder())]
    for path in kept:
        if path.is_file():
            return path
    path = _writable_folder() / name
    make_shown(trace, part, path)
    return path


def make_shown(trace: Trace, part: Part, path: Path) -> dict[str, int]:
    """As `make_program`, with a bar for whoever waits."""
    total = sum(trace.transactions(day) for day in part.days)
    whole_days = part.end_us - part.first_us > 3_600_000_000
    with bar("preparing the replay", 2 * total if whole_days else None) as shown:
        return make_program(trace, part, path, lambda done: shown.update(done, ""))


def cache_folder() -> Path:
    """Where programs are kept; any of them may be removed."""
    try:
        above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # nobody knows this user
        return _temporary_folder()
    return Path(above) / "heddle" / "replay"


def _temporary_folder() -> Path:
    """Where they are kept if there is no home, or none that can be written to."""
    return Path(gettempdir()) / f"heddle-{os.getuid()}" / "replay"


def _writable_folder() -> Path:
    """The first of the folders that can be made and written to.

    Raises:
        TraceError: none can.
    """
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
        reason = "it can't be written to"
    except OSError as error:
        reason = f"can't be made: {why(error)}"
    other = _temporary_folder()
    try:
        other.parent.mkdir(mode=0o700, exist_ok=True)
        other.mkdir(exist_ok=True)
        if other.parent.stat().st_uid == os.getuid() and os.access(other, os.W_OK):
            return other
        refused = "it is another user's"
    except OSError as error:
        refused = why(error)
    raise TraceError(
        f"{folder}: {reason}; nor can {other} be used ({refused}); set XDG_CACHE_HOME to a folder "
        "that can be written to"
    )


def _name(trace: Trace, part: Part) -> str:
    """Another name for every other content, as far as files' sizes and times tell."""
    digest = blake2b(digest_size=10)
    files = [trace.folder / FILE_NAME, *(path for day in part.days for path in trace.files(day))]
    digest.update(f"{VERSION} {part.first_us} {part.end_us}".encode())
    for path in files:
        about = path.stat()
        place = path.absolute()
        digest.update(f"\n{place} {about.st_size} {about.st_mtime_ns}".encode())
    words = re.sub(r"[^\w.-]+", "-", trace.manifest.name)[:60]
    return f"{words}-{digest.hexdigest()}.program"
