"""The actors of a pool: starting them, calling them, and replacing lost ones in the background."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from trainer.evaluation.ray_log import LOG
from trainer.evaluation.ray_nodes import RayNodes
from trainer.evaluation.ray_runtime import RayError
from trainer.evaluation.ray_worker import Identity

START_SECONDS = 120.0
"""Time-out for a machine to start an actor; a busy cluster needs longer."""

LATE_SECONDS = 30.0
"""How long the first actor waits for the others; later ones join the work."""

POLL_SECONDS = 0.5
"""Interval between two checks of the machines while no call ends."""

STARTS = 3
"""Consecutive losses of an actor before it was ready after which it is not restarted."""

NODE_LOSSES = 10
"""Losses of its machine after which a call is abandoned: it may be their cause."""

MACHINES_LOST = f"its machine was lost {NODE_LOSSES} times"

MEMORY_WORDS = ("out of memory", "running low on memory", "outofmemory")
"""Phrases in Ray's messages for a process that its memory monitor terminated."""

Call = Callable[[Any], Any]
"""A call of an actor; it returns a future."""


@dataclass(frozen=True)
class Lost:
    """The result of a call that lost its worker as often as allowed.

    Attributes:
        reason: in words, to follow the name of what was measured.
    """

    reason: str


@dataclass(frozen=True)
class _Worker:
    actor: Any
    identity: Identity


@dataclass(frozen=True)
class _Under:
    """A call in progress: its worker, its loop, and its position there."""

    worker: int
    job: object
    which: int


@dataclass(frozen=True)
class _Loss:
    """Why a call has no value. A lost machine does not count against the call."""

    reason: str
    machine: bool = False


class Workers:
    """Actors, each of which works on one call at a time.

    Actors are started and replaced in the background while others work. An actor whose machine is
    gone stays requested: it starts when the cluster has capacity again.

    Args:
        ray: the module, connected.
        new_actor: starts an actor.
        count: the number of actors.
        tell: shows a message to the user.
        check: called with all ready actors whenever one becomes ready; raises an objection.
        start_seconds: time-out for the first actor, and for a new one when none is left.

    Attributes:
        waited_s: seconds without any worker because machines were lost.
    """

    def __init__(
        self,
        ray: ModuleType,
        new_actor: Callable[[], Any],
        count: int,
        tell: Callable[[str], None],
        check: Callable[[Sequence[Identity]], None] = lambda identities: None,
        start_seconds: float | None = None,
    ) -> None:
        self.waited_s = 0.0
        self._ray = ray
        self._new_actor = new_actor
        self._tell = tell
        self._check = check
        self._start_seconds = START_SECONDS if start_seconds is None else start_seconds
        self._nodes = RayNodes(ray)
        self._ready: dict[int, _Worker] = {}
        self._busy: dict[Any, _Under] = {}
        self._starting: dict[Any, tuple[int, Any]] = {}
        self._starts: dict[int, int] = {}
        self._lost_nodes: set[str] = set()
        self._waits_for_machine = False
        self._out_of_memory = 0
        self._opened = False
        for number in range(count):
            self._start(number)
        self._wait_for_first()
        deadline = time.monotonic() + LATE_SECONDS
        while self._starting and (left := deadline - time.monotonic()) > 0:
            self._look(min(left, POLL_SECONDS))
        self._nodes.lost(self._hosts)  # record the machines while they exist
        self._opened = True

    def __len__(self) -> int:
        """The number of workers that can work now."""
        return len(self._ready)

    @property
    def identities(self) -> list[Identity]:
        """The identities of the workers that can work now."""
        return [worker.identity for worker in self._ready.values()]

    @property
    def _hosts(self) -> dict[str, str]:
        """The names of the machines with workers, by Ray's ids."""
        return {worker.identity.node: worker.identity.host for worker in self._ready.values()}

    def machine_of(self, number: int) -> str:
        """Return Ray's id of a worker's machine; empty if it is gone."""
        return self._ready[number].identity.node if number in self._ready else ""

    @property
    def first(self) -> int:
        """The worker for rounds on real cores; waits until there is one."""
        self._wait_for_first()
        return min(self._ready)

    def run(
        self, calls: Sequence[Call], *, attempts: int = 1, only: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Make each call on a free worker, in order.

        If the caller leaves the loop early, calls stay in progress; their workers are free when
        these end.

        Args:
            calls: the calls to make.
            attempts: how often a call that loses its worker is made, on different workers. A lost
                machine does not count.
            only: make all on this worker, one after the other; on another if it is lost.

        Yields:
            A call's position, and its value or `Lost`, in the order in which they end.

        Raises:
            RayError: no worker is left, and none starts in time.
        """
        job = object()
        waiting = deque(range(len(calls)))
        ended, machines = [0] * len(calls), [0] * len(calls)
        left = len(calls)
        while left:
            if only is not None and only not in self._ready:
                only = self.first
            self._wait_for_first()
            self._give(job, calls, waiting, only)
            for future in self._look(POLL_SECONDS):
                if future not in self._busy:
                    continue  # its machine was lost meanwhile
                under, found = self._take(future, job)
                if under.job is not job:
                    continue  # it belongs to an abandoned loop
                which = under.which
                if isinstance(found, _Loss):
                    count = machines if found.machine else ended
                    count[which] += 1
                    if ended[which] < attempts and machines[which] < NODE_LOSSES:
                        waiting.appendleft(which)
                        continue
                    found = Lost(found.reason)
                left -= 1
                yield which, found
            for under in self._lose_machines():
                if under.job is job:
                    machines[under.which] += 1
                    if machines[under.which] < NODE_LOSSES:
                        waiting.appendleft(under.which)
                    else:
                        left -= 1
                        yield under.which, Lost(MACHINES_LOST)

    def close(self) -> None:
        """Stop all actors."""
        actors = [worker.actor for worker in self._ready.values()]
        actors += [actor for _, actor in self._starting.values()]
        self._ready, self._starting, self._busy = {}, {}, {}
        for actor in actors:
            self._kill(actor)

    def _give(
        self, job: object, calls: Sequence[Call], waiting: deque[int], only: int | None
    ) -> None:
        """Assign waiting calls to free workers."""
        busy = {under.worker for under in self._busy.values()}
        for number, worker in sorted(self._ready.items()):
            if waiting and number not in busy and only in (None, number):
                which = waiting.popleft()
                self._busy[calls[which](worker.actor)] = _Under(number, job, which)

    def _look(self, seconds: float) -> list[Any]:
        """Wait for an event; add actors that started, and return calls that ended."""
        # In this order: Ray reports the first that ended, and calls always end.
        futures = [*self._starting, *self._busy]
        try:
            ended, _ = self._ray.wait(futures, num_returns=1, timeout=seconds)
        except self._ray.exceptions.RayError as error:
            raise RayError(f"Ray does not answer any more: {error}{LOG.words}") from error
        for future in ended:
            if future in self._starting:
                self._started(future)
        return [future for future in ended if future in self._busy]

    def _take(self, future: Any, job: object) -> tuple[_Under, Any]:
        """Return the value of an ended call; its own exception is raised unchanged.

        The exception of a call from an abandoned loop is ignored.
        """
        under = self._busy.pop(future)
        try:
            return under, self._ray.get(future)
        except self._ray.exceptions.RayTaskError as error:
            if under.job is not job:
                return under, None
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            return under, self._lose(under.worker, error)

    def _lose(self, number: int, error: Exception) -> _Loss:
        """Remove a worker that is gone or does not answer; start another one in its place."""
        worker = self._ready.pop(number)
        self._kill(worker.actor)
        LOG.write(f"a worker on {worker.identity.host} was lost: {error}")
        gone = self._nodes.lost([worker.identity.node], at_once=True)
        if gone:
            self._say_lost(dict.fromkeys(gone, worker.identity.host))
            self._start(number)
            return _Loss(MACHINES_LOST, machine=True)
        if any(words in f"{type(error).__name__} {error}".lower() for words in MEMORY_WORDS):
            self._lose_to_memory(number, worker)
            return _Loss(MACHINES_LOST, machine=True)
        self._start(number)
        return _Loss("its worker was lost twice")

    def _lose_to_memory(self, number: int, worker: _Worker) -> None:
        """Continue with one worker fewer, to need less memory; an only worker is replaced once.

        Raises:
            RayError: the only worker was terminated for memory before.
        """
        self._out_of_memory += 1
        host = worker.identity.host
        others = len(self._ready) + len(self._starting)
        if others:
            self._tell(
                f"Ray stopped a worker because {host} ran out of memory; the other {others} repeat "
                f"its measurements{LOG.words}"
            )
            return
        if self._out_of_memory > 1:
            raise RayError(
                f"Ray stopped the only worker twice because {host} ran out of memory. Use a "
                "smaller workload, a smaller evaluation.grown_mib_max, or stop other programs"
                f"{LOG.words}"
            )
        self._start(number)

    def _lose_machines(self) -> list[_Under]:
        """Return the calls in progress on lost machines; request their workers again."""
        hosts = self._hosts
        gone = self._nodes.lost(hosts)
        if not gone:
            return []
        calls: list[_Under] = []
        numbers = [n for n, worker in self._ready.items() if worker.identity.node in gone]
        for number in numbers:
            self._kill(self._ready.pop(number).actor)
        for future, under in list(self._busy.items()):
            if under.worker in numbers:
                calls.append(self._busy.pop(future))
        self._say_lost({node: hosts.get(node, "this machine") for node in gone})
        for number in numbers:
            self._start(number)
        return calls

    def _say_lost(self, gone: dict[str, str]) -> None:
        """Report lost machines to the user, once each.

        Raises:
            RayError: this process is connected to one of them.
        """
        if self._nodes.own in gone:
            self._ready, self._starting = {}, {}  # without Ray they can't be stopped, and are
            raise RayError(f"Ray on this machine, or the cluster's head, was stopped{LOG.words}")
        self._waits_for_machine = True
        for node, host in gone.items():
            if node in self._lost_nodes:
                continue
            self._lost_nodes.add(node)
            others = sum(worker.identity.node not in gone for worker in self._ready.values())
            self._tell(
                f"Ray lost the machine {host}: its measurements are repeated; "
                f"{others or 'no'} worker{'s' * (others != 1)} left{LOG.words}"
            )

    def _start(self, number: int) -> None:
        actor = self._new_actor()
        self._starting[actor.identity.remote()] = (number, actor)

    def _started(self, future: Any) -> None:
        """Add an actor that is ready, or drop one that failed to start."""
        number, actor = self._starting.pop(future)
        try:
            identity: Identity = self._ray.get(future)
            self._check([*self.identities, identity])
        except self._ray.exceptions.RayTaskError as error:
            self._drop(actor, f"a worker can't be started: {error.cause}{LOG.words}")
        except RayError as error:
            self._drop(actor, str(error))
        except self._ray.exceptions.RayError as error:
            LOG.write(f"a worker could not be started: {error}")
            self._starts[number] = self._starts.get(number, 0) + 1
            if self._starts[number] < STARTS and not getattr(error, "actor_init_failed", False):
                self._kill(actor)
                self._start(number)
                return
            last = str(error).strip().splitlines()[-1]
            self._drop(actor, f"a worker can't be started: {last}{LOG.words}")
        else:
            self._starts[number] = 0
            self._waits_for_machine = False
            self._ready[number] = _Worker(actor, identity)

    def _drop(self, actor: Any, reason: str) -> None:
        """Continue without an actor that can't measure.

        Raises:
            RayError: nothing was measured yet, so that the user can fix the cause, or no other
                actor is left.
        """
        self._kill(actor)
        if not self._opened or not (self._ready or self._starting):
            raise RayError(reason)
        self._tell(f"a machine that joined is not used: {reason}")

    def _wait_for_first(self) -> None:
        """Wait until a worker is ready.

        Raises:
            RayError: none becomes ready in time.
        """
        if self._ready:
            return
        begun = time.monotonic()
        charged = not self._waits_for_machine
        if not charged:
            self._tell(
                f"no worker is left; waiting up to {self._start_seconds:g} s for a machine of the "
                "Ray cluster. This time is not part of the search's budget"
            )
        while not self._ready:
            if not self._starting or time.monotonic() - begun > self._start_seconds:
                raise RayError(
                    f"no machine became free within {self._start_seconds:g} s: another run holds "
                    f"it, it is too busy to start a process, or it is lost{LOG.words}\n"
                    "Wait for the other run to end, or add a machine to the cluster."
                )
            self._look(POLL_SECONDS)
            if gone := self._nodes.lost([]):
                self._say_lost(dict.fromkeys(gone, "this one"))
        if not charged:
            self.waited_s += time.monotonic() - begun

    def _kill(self, actor: Any) -> None:
        with contextlib.suppress(Exception):  # it is gone already, or Ray is
            self._ray.kill(actor)
