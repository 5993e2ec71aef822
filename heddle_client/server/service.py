"""The queue of several processes, and what it does when one ends."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import asdict
from os import PathLike

from heddle_client import wire
from heddle_client._scheduler import Core
from heddle_client.scheduler import Scheduler
from heddle_client.watcher import Signature, signature
from heddle_client.wire import Frames, Kind, WireError

LOG = logging.getLogger("heddle_client.server")

TICK_S = 0.02
"""Between two looks at the clock: a transaction may be due."""
MOST_UNREAD = 64 << 20
"""Bytes of answers that a process may leave unread."""


class Service:
    """Orders the transactions of all connections.

    Args:
        scheduler: has the queue and the policy.
        linger: seconds that keys stay locked after the connection that held them has ended: the
            transaction may still run in the database. It is for those that began in mode `locks`.
    """

    def __init__(self, scheduler: Scheduler, linger: float) -> None:
        assert isinstance(scheduler._core, Core)
        self.scheduler = scheduler
        self.core = scheduler._core
        self.linger = linger
        self.connections: set[Process] = set()
        self.lingering = 0
        """Transactions of processes that are gone, whose keys are still taken."""

    @property
    def has_locks(self) -> bool:
        """Whether transactions may run whose keys are locked."""
        return self.lingering > 0 or any(process.has_locks for process in self.connections)

    def report(self) -> bytes:
        """Return the metrics of all processes as JSON."""
        figures = asdict(self.scheduler.metrics())
        return json.dumps(
            figures | {"processes": len(self.connections), "lingering": self.lingering}
        ).encode()

    def give_back(self, tickets: dict[int, bool]) -> None:
        """End the transactions of a process that is gone.

        Args:
            tickets: each with whether its keys are locked.
        """
        # The latest first: to cancel an earlier one would start those that wait for it.
        running = [one for one in sorted(tickets, reverse=True) if not self.core.cancel(one)]
        self._release([one for one in running if not tickets[one]])
        locked = [one for one in running if tickets[one]]
        if locked:
            self.lingering += len(locked)
            asyncio.get_running_loop().call_later(self.linger, self._release_late, locked)

    def _release(self, tickets: list[int]) -> None:
        for ticket in tickets:
            self.core.release(ticket)

    def _release_late(self, tickets: list[int]) -> None:
        self.lingering -= len(tickets)
        self._release(tickets)

    async def tick(self) -> None:
        """Start what is due by its time, as long as the server runs."""
        while True:
            await asyncio.sleep(TICK_S)
            self.core.poll(0)

    async def watch(self, path: str | PathLike[str], period: float, known: Signature) -> None:
        """Put a policy file in force when it changes, and tell it to all processes.

        Args:
            path: of the file.
            period: seconds between two checks.
            known: of the file, before the policy was read.
        """
        while True:
            await asyncio.sleep(period)
            found = signature(path)
            if found == known:
                continue
            known = found
            if self.scheduler.load(path):
                told = wire.policy_frame(self.scheduler.policy)
                for process in self.connections:
                    process.send(told)
                LOG.info("policy: %s", self.scheduler.policy)


class Process(asyncio.Protocol):
    """The connection of a process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._frames = Frames()
        self._tickets: dict[int, tuple[int, bool]] = {}
        """Those of the queue, and whether their keys are locked, by those of the process."""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Tell the policy."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._service.connections.add(self)
        self.send(wire.policy_frame(self._service.scheduler.policy))

    def data_received(self, data: bytes) -> None:
        """Do what the process asks for."""
        try:
            for kind, ticket, content in self._frames.received(data):
                self._do(kind, ticket, content)
        except WireError as error:
            LOG.warning("a process is refused: %s", error)
            if self._transport is not None:
                self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Give back what the process has not ended."""
        self._transport = None
        self._service.connections.discard(self)
        if self._tickets:
            LOG.info("a process has left %d transactions", len(self._tickets))
        self._service.give_back(dict(self._tickets.values()))
        self._tickets.clear()

    @property
    def has_locks(self) -> bool:
        """Whether transactions of it may run or wait whose keys are locked."""
        return any(locked for _, locked in self._tickets.values())

    def send(self, frame: bytes) -> None:
        """Send a frame, if the connection has not ended."""
        if self._transport is None:
            return
        self._transport.write(frame)
        if self._transport.get_write_buffer_size() > MOST_UNREAD:
            LOG.warning("a process is refused: it does not read its answers")
            self._transport.abort()

    def _do(self, kind: int, ticket: int, content: bytes) -> None:
        core = self._service.core
        if kind == Kind.SUBMIT:
            self._submit(core, ticket, content)
        elif kind == Kind.END:
            own, _ = self._tickets.pop(ticket, (0, False))
            if own and not core.cancel(own):
                core.release(own)
        elif kind == Kind.FORCE:
            if ticket in self._tickets:
                core.force(self._tickets[ticket][0])
        elif kind == Kind.PING:
            self.send(wire.frame(Kind.PONG))
        elif kind == Kind.STATUS:
            self.send(wire.frame(Kind.REPORT, content=self._service.report()))
        else:
            raise WireError(f"frames of kind {kind} are unknown")

    def _submit(self, core: Core, ticket: int, content: bytes) -> None:
        scheduled, exclusive, shared = wire.keys_of(content)
        if ticket in self._tickets:
            raise WireError(f"ticket {ticket} is used already")
        own, started = core.submit(exclusive, shared, scheduled)
        self._tickets[ticket] = own, self._service.scheduler.policy.mode == "locks"
        if started:
            self.send(wire.frame(Kind.STARTED, ticket))
        else:
            core.on_start(own, lambda: self.send(wire.frame(Kind.STARTED_LATER, ticket)))
