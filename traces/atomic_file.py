"""Files that are replaced atomically."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same directory; move the file there to `path` at the end.

    If the block raises, `path` stays unchanged. A symbolic link is followed.

    Raises:
        OSError: the file can't be written.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # such as /dev/null
        raise FileExistsError(errno.EEXIST, "is not a regular file; name another", str(target))
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
