"""The connection of a process to the server that orders the transactions of several."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import weakref
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING

from heddle_client import wire
from heddle_client._scheduler import RemoteCore
from heddle_client.errors import ServerError
from heddle_client.policy import Policy
from heddle_client.wire import Frames, Kind, WireError

if TYPE_CHECKING:
    from heddle_client.scheduler import Scheduler

LOG = logging.getLogger("heddle_client")

CONNECT_S = 2.0
"""How long a connection may take, with the policy that the server then tells."""
SIGN_OF_LIFE_S = 1.0
"""After this time without a frame the server is asked for one."""
PATIENCE_S = 5.0
"""After this time without a frame the server is lost."""
AGAIN_S = 0.5
"""Between two attempts to reach the server again."""
BATCH = 1 << 16


def told_policy(path: str | PathLike[str]) -> tuple[socket.socket, Frames, Policy]:
    """Connect to a server, and return the policy that it tells first.

    Raises:
        ServerError: there is none, or it does not answer as one.
    """
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.settimeout(CONNECT_S)
        link.connect(os.fspath(path))
        frames = Frames()
        while True:
            data = link.recv(BATCH)
            if not data:
                raise WireError("it has closed the connection")
            found = frames.received(data)
            if any(kind != Kind.POLICY for kind, _, _ in found):
                raise WireError("it speaks another protocol")
            if found:
                return link, frames, wire.policy_of(found[-1][2])
    except (OSError, ValueError, TypeError) as error:
        link.close()
        reason = getattr(error, "strerror", None) or error
        raise ServerError(
            f"server {os.fspath(path)}: {reason}; start one: "
            f"python -m heddle_client.server {os.fspath(path)}"
        ) from error


class Connection:
    """Receives what a server says, for the queue of a scheduler. If it is lost, it connects again.

    Args:
        scheduler: whose transactions the server orders.
        core: their queue.
        path: of the server's socket.
        known: the policy of the server, if this process is the child of a fork. It then starts
            without the server if that can't be reached.

    Raises:
        ServerError: the server can't be reached.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        core: RemoteCore,
        path: str | PathLike[str],
        known: Policy | None = None,
    ) -> None:
        self._scheduler = weakref.ref(scheduler)
        self._core = core
        self._path = path
        self._closed = threading.Event()
        self._socket: socket.socket | None = None
        self._frames = Frames()
        self.policy = known or Policy()
        try:
            self._connect()
        except ServerError as error:
            if known is None:
                raise
            LOG.warning("%s", error)
        threading.Thread(target=self._run, name="heddle_client server", daemon=True).start()

    def close(self) -> None:
        """End the connection. The server then lets others have the keys of this process."""
        self._closed.set()
        link = self._socket
        if link is not None:
            with suppress(OSError):  # the server was faster
                link.shutdown(socket.SHUT_RDWR)

    def abandon(self) -> None:
        """Close the copy of the socket that the child of a fork has."""
        if self._socket is not None:
            self._socket.close()

    def _connect(self) -> None:
        link, self._frames, policy = told_policy(self._path)
        link.settimeout(SIGN_OF_LIFE_S)
        self._socket = link
        self.policy = policy
        self._core.connect(link.fileno())

    def _run(self) -> None:
        while not self._closed.is_set() and self._scheduler() is not None:
            if self._socket is None:
                if self._closed.wait(AGAIN_S):
                    return
                try:
                    self._connect()
                except ServerError:
                    continue
                LOG.warning("the server %s orders transactions again", os.fspath(self._path))
            else:
                reason = self._receive(self._socket)
                self._lose(reason)
        self._core.lose(start=True)
        if self._socket is not None:
            self._socket.close()

    def _receive(self, link: socket.socket) -> str:
        """Deliver frames until the connection ends, and return why it has."""
        heard = time.monotonic()
        while True:
            try:
                data = link.recv(BATCH)
            except TimeoutError:
                if self._scheduler() is None:
                    return "the scheduler is gone"
                if time.monotonic() - heard > PATIENCE_S:
                    return f"it has not answered for {PATIENCE_S:.0f} s"
                self._core.ping()
                continue
            except OSError as error:
                return error.strerror or str(error)
            if not data:
                return "it has ended"
            heard = time.monotonic()
            try:
                for kind, ticket, content in self._frames.received(data):
                    self._deliver(kind, ticket, content)
            except (WireError, TypeError, ValueError) as error:
                return str(error)

    def _deliver(self, kind: int, ticket: int, content: bytes) -> None:
        if kind in (Kind.STARTED, Kind.STARTED_LATER):
            self._core.started(ticket, kind == Kind.STARTED_LATER)
        elif kind == Kind.POLICY:
            self.policy = wire.policy_of(content)
            scheduler = self._scheduler()
            if scheduler is not None:
                scheduler._add("swaps")

    def _lose(self, reason: str) -> None:
        """Let what waits run without the server, except in mode `locks`."""
        lost = self._core.lose(self.policy.mode != "locks")
        link, self._socket = self._socket, None
        if link is not None:
            link.close()
        scheduler = self._scheduler()
        if scheduler is None or self._closed.is_set():
            return
        LOG.warning("the server %s is lost: %s", os.fspath(self._path), reason)
        if lost and self.policy.mode != "locks":
            scheduler._add("failed_open", lost)
