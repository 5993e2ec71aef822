"""A policy file that somebody else replaces, as what is new in it each time one looks."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from policies import PolicyFileError, Signature, from_json, to_json
from policies.format import read_text

FRESH_NS = 2_000_000_000
"""A file changed so recently may change again without its times telling: they are that coarse."""


@dataclass(frozen=True)
class PublishedPolicy:
    """A policy that is valid for the workload.

    Attributes:
        name: as the file says.
        text: the policy file's canonical JSON text.
        digest: SHA-256 of the file's text, hexadecimal.
    """

    name: str
    text: str = field(repr=False)
    digest: str


@dataclass(frozen=True)
class Refused:
    """What is there can't be used.

    Attributes:
        reason: names the file, the place in it and the cure.
        digest: of the file's text; empty if there is none that could be read.
    """

    reason: str
    digest: str = ""


@dataclass(frozen=True)
class Missing:
    """There is no such file."""

    path: Path


Found = PublishedPolicy | Refused | Missing


@dataclass(frozen=True)
class _Version:
    """What differs between two versions of a file, without reading them."""

    device: int
    inode: int
    modified_ns: int
    changed_ns: int
    size: int


class PublishedFile:
    """The file, and what is known of it.

    Args:
        path: the file; it need not be there yet.
        signature: the workload that a policy must fit.
    """

    def __init__(self, path: str | os.PathLike[str], signature: Signature) -> None:
        self.path = Path(path)
        self._signature = signature
        self._version: _Version | None = None
        self._settled = False
        self._last: Found | None = None

    def poll(self) -> Found | None:
        """What is there now; None if it is what was there when one looked last.

        The file is read only if it is another one, or has changed. One that was written in place
        and caught half-way is refused, and read again once it has changed.
        """
        found = self._found()
        if found is None or found == self._last:
            return None
        self._last = found
        return found

    def _found(self) -> Found | None:
        """What is there; None where that is certain to be what it was."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            self._version = None
            return Missing(self.path)
        except (OSError, ValueError) as error:
            self._version = None
            reason = getattr(error, "strerror", None) or str(error)
            return Refused(f"{self.path}: can't be read: {reason}")
        version = _Version(
            status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
        )
        if version == self._version and self._settled:
            return None
        self._version = version
        self._settled = time.time_ns() - status.st_ctime_ns > FRESH_NS
        return self._read(status.st_mode)

    def _read(self, mode: int) -> Found:
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe is waited for, for ever
            return Refused(f"{self.path}: is no regular file; publish a policy by renaming a file")
        try:
            text = read_text(self.path)
        except PolicyFileError as error:
            return Refused(str(error)) if self.path.exists() else Missing(self.path)
        digest = sha256(text.encode()).hexdigest()
        try:
            document = from_json(text, str(self.path), self._signature)
        except PolicyFileError as error:
            return Refused(str(error), digest)
        return PublishedPolicy(document.name, to_json(document), digest)
