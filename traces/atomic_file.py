"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced_atomically(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; what was written takes its place if nothing went wrong.

    A symbolic link is followed.

    Raises:
        OSError: it can't be written there.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # such as /dev/null
        raise FileExistsError(errno.EEXIST, "is no regular file; name another", str(target))
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
