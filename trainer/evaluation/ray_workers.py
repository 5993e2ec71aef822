"""The actors of a pool: started, given calls, and replaced in the background when they are lost."""

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
"""How long a machine may take to give an actor; a busy cluster has none to give for longer."""

LATE_SECONDS = 30.0
"""How long the first actor waits for the others; those that come later join the work."""

POLL_SECONDS = 0.5
"""Between two looks at machines while no call ends."""

STARTS = 3
"""An actor that was lost so often in a row before it was ready is not started again."""

NODE_LOSSES = 10
"""A call whose machine was lost so often is given up: it may be what brings them down."""

MACHINES_LOST = f"its machine was lost {NODE_LOSSES} times"

MEMORY_WORDS = ("out of memory", "running low on memory", "outofmemory")
"""How Ray's messages say that its memory monitor ended a process."""

Call = Callable[[Any], Any]
"""Something asked of an actor; its value is a future."""


@dataclass(frozen=True)
class Lost:
    """What a call gives that ended its worker as often as it may.

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
    """A call under way: its worker, whose it is, and which."""

    worker: int
    job: object
    which: int


@dataclass(frozen=True)
class _Loss:
    """Why a call has no value. A machine that was lost is no fault of the call."""

    reason: str
    machine: bool = False


class Workers:
    """Actors, each of which works on one call at a time.

    Actors start, and are replaced, without anybody waiting for them while others work. An actor
    whose machine is gone stays asked for: it starts when the cluster has room again.

    Args:
        ray: the module, connected.
        new_actor: starts an actor.
        count: how many are wanted.
        tell: shows a message to the person.
        check: called with all that are ready whenever one becomes ready; raises what is against it.
        start_seconds: how long the first may take, and how long to wait when none is left.

    Attributes:
        waited_s: seconds in which no worker was left, because machines were lost.
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
        self._nodes.lost(self._hosts)  # so that it knows them while they are there
        self._opened = True

    def __len__(self) -> int:
        """How many can work now."""
        return len(self._ready)

    @property
    def identities(self) -> list[Identity]:
        """Of those that can work now."""
        return [one.identity for one in self._ready.values()]

    @property
    def _hosts(self) -> dict[str, str]:
        """The names of the machines that workers are on, by Ray's ids."""
        return {one.identity.node: one.identity.host for one in self._ready.values()}

    def machine_of(self, number: int) -> str:
        """Ray's id of the machine of a worker; empty if it is gone."""
        return self._ready[number].identity.node if number in self._ready else ""

    @property
    def first(self) -> int:
        """The worker that a round on real cores runs on, once there is one."""
        self._wait_for_first()
        return min(self._ready)

    def run(
        self, calls: Sequence[Call], *, attempts: int = 1, only: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Make each call on whichever worker is free, in their order.

        Whoever leaves the loop early leaves calls under way; their workers are free afterwards.

        Args:
            calls: what to make.
            attempts: how often a call is made, on different workers, that ends its worker. A
                machine that is lost does not count.
            only: make all on this worker, one after the other; on another if it is lost.

        Yields:
            A call's position, and its value or `Lost`: as they end.

        Raises:
            RayError: no worker is left, and none comes in time.
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
                    continue  # of a loop that was left
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
        """End all actors."""
        actors = [worker.actor for worker in self._ready.values()]
        actors += [actor for _, actor in self._starting.values()]
        self._ready, self._starting, self._busy = {}, {}, {}
        for actor in actors:
            self._kill(actor)

    def _give(
        self, job: object, calls: Sequence[Call], waiting: deque[int], only: int | None
    ) -> None:
        """Give calls that wait to workers that are free."""
        busy = {under.worker for under in self._busy.values()}
        for number, worker in sorted(self._ready.items()):
            if waiting and number not in busy and only in (None, number):
                which = waiting.popleft()
                self._busy[calls[which](worker.actor)] = _Under(number, job, which)

    def _look(self, seconds: float) -> list[Any]:
        """Wait for something to happen; calls that ended. Actors that started are added."""
        # In this order: Ray reports the first that ended, and calls always do.
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
        """The value of a call that ended; its own exception is raised as it was.

        That of a call from a loop that was left concerns nobody any more.
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
        """A worker is gone, or does not answer; another is started in its place."""
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
        """One worker fewer needs less memory; the only one is replaced once.

        Raises:
            RayError: the only one was ended for memory before.
        """
        self._out_of_memory += 1
        host = worker.identity.host
        others = len(self._ready) + len(self._starting)
        if others:
            self._tell(
                f"Ray ended a worker because {host} ran out of memory; the other {others} measure "
                f"what it was measuring{LOG.words}"
            )
            return
        if self._out_of_memory > 1:
            raise RayError(
                f"Ray ended the only worker twice because {host} ran out of memory. Use a smaller "
                f"workload, a smaller evaluation.grown_mib_max, or end other programs{LOG.words}"
            )
        self._start(number)

    def _lose_machines(self) -> list[_Under]:
        """Calls under way on machines that are gone; their workers are asked for again."""
        hosts = self._hosts
        gone = self._nodes.lost(hosts)
        if not gone:
            return []
        calls: list[_Under] = []
        numbers = [n for n, one in self._ready.items() if one.identity.node in gone]
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
        """Tell the person, once a machine.

        Raises:
            RayError: it is the machine that this process is connected to.
        """
        if self._nodes.own in gone:
            self._ready, self._starting = {}, {}  # without Ray they can't be ended, and are
            raise RayError(f"Ray on this machine, or the cluster's head, was ended{LOG.words}")
        self._waits_for_machine = True
        for node, host in gone.items():
            if node in self._lost_nodes:
                continue
            self._lost_nodes.add(node)
            others = sum(one.identity.node not in gone for one in self._ready.values())
            self._tell(
                f"Ray lost the machine {host}: what it was measuring is measured again; "
                f"{others or 'no'} worker{'s' * (others != 1)} left{LOG.words}"
            )

    def _start(self, number: int) -> None:
        actor = self._new_actor()
        self._starting[actor.identity.remote()] = (number, actor)

    def _started(self, future: Any) -> None:
        """An actor is ready, or will never be."""
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
            RayError: nothing was measured yet, so that the cause can be mended first, or no other
                is left.
        """
        self._kill(actor)
        if not self._opened or not (self._ready or self._starting):
            raise RayError(reason)
        self._tell(f"a machine that joined is not used: {reason}")

    def _wait_for_first(self) -> None:
        """Return once a worker is ready.

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
                    "Wait for the other run, or add a machine to the cluster."
                )
            self._look(POLL_SECONDS)
            if gone := self._nodes.lost([]):
                self._say_lost(dict.fromkeys(gone, "this one"))
        if not charged:
            self.waited_s += time.monotonic() - begun

    def _kill(self, actor: Any) -> None:
        with contextlib.suppress(Exception):  # it is gone already, or Ray is
            self._ray.kill(actor)
