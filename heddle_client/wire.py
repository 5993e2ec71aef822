"""The frames between a process and the server that orders the transactions of several.

A frame is a header and its content. Numbers are in the byte order of the machine, on which both
ends are. `remote_queue.cc` sends those of a process.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict
from enum import IntEnum
from typing import Any

from heddle_client.policy import Policy

VERSION = 1
HEADER = struct.Struct("=IBQ")
"""The length of the content, the kind, and the ticket that the process has given."""
SUBMISSION = struct.Struct("=BI")
"""Whether its keys count, and how many keys it may write. Then all keys follow."""
KEY = struct.Struct("=q")
LONGEST = 1 << 20
"""Bytes of a content."""


class Kind(IntEnum):
    """What a frame says: of a process up to STATUS, of the server from STARTED on."""

    SUBMIT = 1
    END = 2
    FORCE = 3
    PING = 4
    STATUS = 5
    STARTED = 16
    STARTED_LATER = 17
    PONG = 18
    POLICY = 19
    REPORT = 20


class WireError(ValueError):
    """Bytes that are no frame of this version."""


class Frames:
    """Cuts received bytes into frames."""

    def __init__(self) -> None:
        self._rest = b""

    def received(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """Return the kind, ticket and content of each frame that is complete.

        Raises:
            WireError: a frame is too long.
        """
        data = self._rest + data
        found = []
        at = 0
        while len(data) - at >= HEADER.size:
            length, kind, ticket = HEADER.unpack_from(data, at)
            if length > LONGEST:
                raise WireError(f"a frame of {length} bytes; {LONGEST} is the most")
            end = at + HEADER.size + length
            if len(data) < end:
                break
            found.append((kind, ticket, data[at + HEADER.size : end]))
            at = end
        self._rest = data[at:]
        return found


def frame(kind: Kind, ticket: int = 0, content: bytes = b"") -> bytes:
    """Return a frame."""
    return HEADER.pack(len(content), kind, ticket) + content


def keys_of(submission: bytes) -> tuple[bool, list[int], list[int]]:
    """Return whether the keys of a submission count, those that it may write, and the others.

    Raises:
        WireError: it is no submission.
    """
    try:
        scheduled, exclusive = SUBMISSION.unpack_from(submission)
        keys = [key for (key,) in KEY.iter_unpack(submission[SUBMISSION.size :])]
    except struct.error as error:
        raise WireError(f"no submission: {error}") from None
    if exclusive > len(keys):
        raise WireError(f"no submission: {exclusive} of {len(keys)} keys are written")
    return bool(scheduled), keys[:exclusive], keys[exclusive:]


def policy_frame(policy: Policy) -> bytes:
    """Return the frame that tells a process the policy in force."""
    content = asdict(policy) | {"unscheduled": sorted(policy.unscheduled), "version": VERSION}
    return frame(Kind.POLICY, content=json.dumps(content).encode())


def policy_of(content: bytes) -> Policy:
    """Return the policy that a server tells.

    Raises:
        WireError: the server has another version.
    """
    told = _read(content)
    if told.pop("version", None) != VERSION:
        raise WireError("the server is of another version of heddle_client: start it again")
    return Policy(**told)


def _read(content: bytes) -> dict[str, Any]:
    try:
        told = json.loads(content)
    except ValueError as error:
        raise WireError(f"no JSON: {error}") from None
    if not isinstance(told, dict):
        raise WireError("no JSON object")
    return told
