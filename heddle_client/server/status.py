"""Asks a server for its metrics."""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import Any

from heddle_client.connection import told_policy
from heddle_client.errors import ServerError
from heddle_client.wire import Frames, Kind, frame

PATIENCE_S = 2.0


def status(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the metrics of a server, over the transactions of all processes in its queue.

    Besides the fields of `Metrics` they have `processes`, those that are connected, and
    `lingering`, transactions of processes that have died, whose keys are still locked.

    Raises:
        ServerError: there is no server, or it does not answer.
    """
    link, _, _ = told_policy(path)
    with link:
        link.settimeout(PATIENCE_S)
        frames = Frames()
        try:
            link.sendall(frame(Kind.STATUS))
            while data := link.recv(1 << 16):
                for kind, _, content in frames.received(data):
                    if kind == Kind.REPORT:
                        found: dict[str, Any] = json.loads(content)
                        return found
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ServerError(f"server {fspath(path)}: {reason}") from error
    raise ServerError(f"server {fspath(path)}: it has closed the connection; ask again")
