"""Storage: shared memory, the folder of runs, temporary files, open files."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trainer.doctor.finding import Finding, gibibytes
from trainer.evaluation.ray_runtime import OBJECT_STORE_BYTES

SHARED_MEMORY = Path("/dev/shm")
SPACE_MIN = 1 << 30
"""Free space below which a sweep's records may not fit."""

SOCKET_PATH_MAX = 107
"""Bytes of the path of a Unix socket (`unix(7)`)."""

RAY_SOCKET = "/ray/session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store"
"""What Ray appends to the temporary folder, at its longest."""

FILES_MIN = 1024
"""Open files below which Ray may not start its processes."""


def examine_storage(
    shared: Path = SHARED_MEMORY, runs: Path | None = None, temporary: Path | None = None
) -> Iterator[Finding]:
    """Examine storage.

    Args:
        shared: the file system of shared memory.
        runs: the folder in which runs are started; None: the current one.
        temporary: the folder of temporary files; None: the system's.
    """
    yield _shared_memory(shared)
    yield _runs(Path.cwd() if runs is None else runs)
    yield _temporary(Path(tempfile.gettempdir()) if temporary is None else temporary)
    yield _open_files()


def _shared_memory(path: Path) -> Finding:
    cure = "use evaluation.backend=in_process, or enlarge it (docker run --shm-size=1g)"
    free = _free(path)
    if free is None:
        return Finding(str(path), "missing", "Ray keeps objects on disk and is slower", cure)
    if free < OBJECT_STORE_BYTES:
        effect = f"Ray needs {OBJECT_STORE_BYTES >> 20} MiB, keeps objects on disk and is slower"
        return Finding(str(path), f"{free >> 20} MiB free", effect, cure)
    return Finding(str(path), f"{gibibytes(free)} free")


def _runs(path: Path) -> Finding:
    free = _free(path)
    found = f"{path}" if free is None else f"{path}, {gibibytes(free)} free"
    if not _writable(path):
        return Finding(
            "folder",
            found,
            "it can't be written to, so heddle train can't make its folder of runs here",
            "use another folder, or runs_dir=FOLDER",
        )
    if free is not None and free < SPACE_MIN:
        return Finding("folder", found, "runs and traces may not fit", "free space on this disk")
    return Finding("folder", found)


def _temporary(path: Path) -> Finding:
    cure = "set TMPDIR to another folder, or use evaluation.backend=in_process"
    if not _writable(path):
        return Finding("temporary files", str(path), "Ray can't start", cure)
    length = len(os.fsencode(str(path) + RAY_SOCKET))
    if length > SOCKET_PATH_MAX:
        effect = f"Ray can't start: its sockets' paths have {length} bytes, at most 107 are allowed"
        return Finding("temporary files", str(path), effect, cure)
    return Finding("temporary files", str(path))


def _open_files() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = "no limit" if soft == resource.RLIM_INFINITY else f"{soft:,} at most"
    if soft != resource.RLIM_INFINITY and soft < FILES_MIN:
        return Finding(
            "open files", found, "Ray may not start on many cores", f"ulimit -n {FILES_MIN}"
        )
    return Finding("open files", found)


def _free(path: Path) -> int | None:
    """Return the free bytes of a file system; None if there is no such folder."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def _writable(path: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False
