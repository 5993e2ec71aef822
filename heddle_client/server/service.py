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
from heddle_client.watcher import signature
from heddle_client.wire import Frames, Kind, WireError

LOG = logging.getLogger("heddle_client.server")

TICK_S = 0.02
"""Between two looks at the clock: a transaction may be due."""


class Service:
    """Orders the transactions of all connections.

    Args:
        scheduler: has the queue and the policy.
        linger: seconds that the keys of a process which has died stay taken, in mode `locks`: its
            last transaction may still run in the database.
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
    def running(self) -> int:
        """Transactions that run, those of processes that are gone included."""
        return int(self.core.counters()["running"])

    def report(self) -> bytes:
        """Return the metrics of all processes as JSON."""
        figures = asdict(self.scheduler.metrics())
        return json.dumps(
            figures | {"processes": len(self.connections), "lingering": self.lingering}
        ).encode()

    def give_back(self, tickets: set[int]) -> None:
        """End the transactions of a process that is gone."""
        running = {ticket for ticket in tickets if not self.core.cancel(ticket)}
        if self.scheduler.policy.mode != "locks":
            self._release(running)
        elif running:
            self.lingering += len(running)
            asyncio.get_running_loop().call_later(self.linger, self._release_late, running)

    def _release(self, tickets: set[int]) -> None:
        for ticket in tickets:
            self.core.release(ticket)

    def _release_late(self, tickets: set[int]) -> None:
        self.lingering -= len(tickets)
        self._release(tickets)

    async def tick(self) -> None:
        """Start what is due by its time, as long as the server runs."""
        while True:
            await asyncio.sleep(TICK_S)
            self.core.poll(0)

    async def watch(self, path: str | PathLike[str], period: float) -> None:
        """Put a policy file in force when it changes, and tell it to all processes."""
        known = signature(path)
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
        self._tickets: dict[int, int] = {}
        """Those of the queue, by those of the process."""
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
        self._service.give_back(set(self._tickets.values()))
        self._tickets.clear()

    def send(self, frame: bytes) -> None:
        """Send a frame, if the connection has not ended."""
        if self._transport is not None:
            self._transport.write(frame)

    def _do(self, kind: int, ticket: int, content: bytes) -> None:
        core = self._service.core
        if kind == Kind.SUBMIT:
            self._submit(core, ticket, content)
        elif kind == Kind.END:
            own = self._tickets.pop(ticket, None)
            if own is not None and not core.cancel(own):
                core.release(own)
        elif kind == Kind.FORCE:
            if (own := self._tickets.get(ticket)) is not None:
                core.force(own)
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
        self._tickets[ticket] = own
        if started:
            self.send(wire.frame(Kind.STARTED, ticket))
        else:
            core.on_start(own, lambda: self.send(wire.frame(Kind.STARTED_LATER, ticket)))
