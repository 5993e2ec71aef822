"""The connection of a process to the server that orders the transactions of several."""

from __future__ import annotations

import logging
import os
import select
import shlex
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
UNANSWERED = 5
"""After this many questions without a frame the server is lost."""
AGAIN_S = 0.5
"""Between two attempts to reach the server again."""
FULL_S = 0.02
"""Between two attempts to connect while many other processes do."""
BATCH = 1 << 16


def told_policy(path: str | PathLike[str]) -> tuple[socket.socket, Frames, Policy]:
    """Connect to a server, and return the policy that it tells first.

    Raises:
        ServerError: there is none, or it does not answer as one.
    """
    link = None
    try:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.settimeout(CONNECT_S)
        _connect(link, os.fspath(path))
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
        if link is not None:
            link.close()
        reason = getattr(error, "strerror", None) or error
        raise ServerError(
            f"server {os.fspath(path)}: {reason}; start one: "
            f"python -m heddle_client.server {shlex.quote(os.fspath(path))}"
        ) from error


def _connect(link: socket.socket, path: str) -> None:
    """Connect, and wait while the server's queue of new connections is full."""
    end = time.monotonic() + CONNECT_S
    while True:
        try:
            link.connect(path)
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(FULL_S)
        else:
            return


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
        self._wake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.policy = known or Policy()
        try:
            self._connect()
        except ServerError as error:
            if known is None:
                self._close_pipe()
                raise
            LOG.warning("%s", error)
        try:
            threading.Thread(target=self._run, name="heddle_client server", daemon=True).start()
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """End the connection. The server then lets others have the keys of this process."""
        self._closed.set()
        link = self._socket
        if link is not None:
            with suppress(OSError):  # the server was faster
                link.shutdown(socket.SHUT_RDWR)

    def abandon(self) -> None:
        """Close the descriptors that the child of a fork has of its parent."""
        if self._socket is not None:
            self._socket.close()
        self._close_pipe()

    def _connect(self) -> None:
        link, self._frames, policy = told_policy(self._path)
        link.setblocking(False)
        self._socket = link
        self.policy = policy
        self._core.connect(link.fileno(), self._waker)

    def _run(self) -> None:
        try:
            while not self._closed.is_set() and self._scheduler() is not None:
                if self._socket is not None:
                    self._lose(self._receive(self._socket))
                    continue
                if self._closed.wait(AGAIN_S):
                    break
                with suppress(ServerError):
                    self._connect()
                    LOG.warning("the server %s orders transactions again", os.fspath(self._path))
        finally:
            self._end()

    def _receive(self, link: socket.socket) -> str:
        """Deliver frames until the connection ends, and return why it has."""
        events = select.poll()
        events.register(link, select.POLLIN)
        events.register(self._wake, select.POLLIN)
        unanswered = 0
        while True:
            ready = dict(events.poll(SIGN_OF_LIFE_S * 1e3))
            if self._wake in ready:
                with suppress(BlockingIOError):
                    os.read(self._wake, BATCH)
                events.modify(link, select.POLLIN | select.POLLOUT)
            happened = ready.get(link.fileno(), 0)
            if happened & select.POLLOUT and not self._core.flush():
                events.modify(link, select.POLLIN)
            if happened & ~select.POLLOUT:
                unanswered = 0
                reason = self._read(link)
                if reason:
                    return reason
            elif not ready:
                if self._scheduler() is None:
                    return "the scheduler is gone"
                if unanswered == UNANSWERED:
                    return f"it has not answered for {UNANSWERED * SIGN_OF_LIFE_S:g} s"
                unanswered += 1
                self._core.ping()

    def _read(self, link: socket.socket) -> str:
        """Deliver what has come. Return why the connection has ended, or an empty text."""
        try:
            data = link.recv(BATCH)
            if not data:
                return "it has ended"
            for kind, ticket, content in self._frames.received(data):
                self._deliver(kind, ticket, content)
        except BlockingIOError:
            return ""
        except OSError as error:
            return error.strerror or str(error)
        except (TypeError, ValueError) as error:
            return str(error)
        return ""

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
        self._close_socket()
        scheduler = self._scheduler()
        if scheduler is None or self._closed.is_set():
            return
        LOG.warning("the server %s is lost: %s", os.fspath(self._path), reason)
        if lost and self.policy.mode != "locks":
            scheduler._add("failed_open", lost)

    def _end(self) -> None:
        self._core.lose(self._closed.is_set() or self.policy.mode != "locks")
        self._close_socket()
        self._close_pipe()

    def _close_socket(self) -> None:
        link, self._socket = self._socket, None
        if link is not None:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)  # also for a child that has a copy
            link.close()

    def _close_pipe(self) -> None:
        for descriptor in (self._wake, self._waker):
            with suppress(OSError):
                os.close(descriptor)
        self._wake = self._waker = -1
