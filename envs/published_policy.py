"""Read a policy file that another process replaces."""

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
"""Age in nanoseconds below which a file is read again, because file times are this coarse."""


@dataclass(frozen=True)
class PublishedPolicy:
    """A published policy that is valid for the workload.

    Attributes:
        name: name of the policy.
        text: canonical JSON text of the policy file.
        digest: hexadecimal SHA-256 digest of the file's text.
    """

    name: str
    text: str = field(repr=False)
    digest: str


@dataclass(frozen=True)
class Refused:
    """A published file cannot be used.

    Attributes:
        reason: message with the file, the position in it, the fault and how to correct it.
        digest: hexadecimal SHA-256 digest of the file's text; empty if it could not be read.
    """

    reason: str
    digest: str = ""


@dataclass(frozen=True)
class Missing:
    """The published file does not exist.

    Attributes:
        path: path of the file.
    """

    path: Path


Found = PublishedPolicy | Refused | Missing


@dataclass(frozen=True)
class _Version:
    """The attributes that distinguish two versions of a file without reading them."""

    device: int
    inode: int
    modified_ns: int
    changed_ns: int
    size: int


class PublishedFile:
    """Reads a policy file whenever it has changed.

    Args:
        path: path of the file, which need not exist yet.
        signature: signature of the workload, which a policy must fit.
    """

    def __init__(self, path: str | os.PathLike[str], signature: Signature) -> None:
        self.path = Path(path)
        self._signature = signature
        self._version: _Version | None = None
        self._settled = False
        self._last: Found | None = None

    def poll(self) -> Found | None:
        """Return the state of the file, or None if it is unchanged since the last call.

        The file is read only if it was replaced or modified. A file that is written in place and
        incomplete is refused, and read again after its next modification.
        """
        found = self._found()
        if found is None or found == self._last:
            return None
        self._last = found
        return found

    def _found(self) -> Found | None:
        """Return the state of the file, or None if it is certainly unchanged."""
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
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # reading a pipe would block
            return Refused(f"{self.path}: not a regular file; publish a policy by renaming a file")
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
