"""A stand-in for a Ray cluster without processes: machines are ports, actors are objects.

A machine that is killed closes its port. Ray itself does not notice (`nodes` still calls it alive,
calls on its actors never end) until `notice`. Calls end in the order in which they were made.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from trainer.evaluation.ray_worker import Identity


class FakeRayError(Exception):
    """The base of Ray's errors."""


class FakeTaskError(FakeRayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class FakeActorError(FakeRayError):
    actor_init_failed = False


class FakeMemoryError(FakeRayError):
    """Like Ray's `OutOfMemoryError`, which is no `RayActorError`."""

    def __init__(self) -> None:
        super().__init__("1 worker was killed due to the node running low on memory")


@dataclass(eq=False)
class FakeMachine:
    name: str
    room: int
    port: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    alive: bool = True
    noticed: bool = False

    def __post_init__(self) -> None:
        self.number = self.port.getsockname()[1]

    def kill(self) -> None:
        self.alive = False
        self.port.close()


@dataclass(eq=False)
class Future:
    actor: FakeActor
    make: Callable[[], Any]

    def ends(self) -> bool:
        machine = self.actor.machine
        if machine is None:
            return False
        return machine.alive or machine.noticed


class FakeActor:
    def __init__(self, ray: FakeRay) -> None:
        self._ray = ray
        self.machine: FakeMachine | None = None
        self.killed = False
        self.identity = SimpleNamespace(remote=lambda: Future(self, self._identity))

    def ask(self, make: Callable[[str], Any]) -> Future:
        """Return a call of `make(name of the machine)`, which may raise."""
        return Future(self, lambda: make(self.machine.name if self.machine else ""))

    def _identity(self) -> Identity:
        assert self.machine is not None
        return Identity(self.machine.name, f"host-{self.machine.name}", 2, "1", "build")


class FakeRay:
    """The functions of the module `ray` that the pool uses."""

    exceptions = SimpleNamespace(
        RayError=FakeRayError, RayTaskError=FakeTaskError, RayActorError=FakeActorError
    )

    def __init__(self, **room: int) -> None:
        self.head = FakeMachine("head", 0)
        self.machines = {name: FakeMachine(name, count) for name, count in room.items()}
        self.actors: list[FakeActor] = []
        self.before_wait: list[Callable[[], None]] = []

    def new_actor(self) -> FakeActor:
        self.actors.append(FakeActor(self))
        return self.actors[-1]

    def notice(self, name: str) -> None:
        """Let Ray detect that a machine is gone."""
        self.machines[name].noticed = True

    def add(self, name: str, room: int) -> None:
        self.machines[name] = FakeMachine(name, room)

    def wait(
        self, futures: Sequence[Future], *, num_returns: int, timeout: float
    ) -> tuple[list[Future], list[Future]]:
        assert (bool(futures), num_returns) == (True, 1)
        assert timeout >= 0
        if self.before_wait:
            self.before_wait.pop(0)()
        self._place()
        ended = [one for one in futures if one.ends()][:1]
        return ended, [one for one in futures if one not in ended]

    def get(self, future: Future) -> Any:
        machine = future.actor.machine
        assert machine is not None
        if not machine.alive or future.actor.killed:
            raise FakeActorError("the actor died")
        try:
            return future.make()
        except FakeRayError:
            raise
        except Exception as error:
            raise FakeTaskError(error) from error

    def kill(self, actor: FakeActor) -> None:
        actor.killed = True

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {
                "NodeID": one.name,
                "NodeManagerAddress": "127.0.0.1",
                "NodeManagerPort": one.number,
                "Alive": not one.noticed,
            }
            for one in self.machines.values()
        ]

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(
            get_node_id=lambda: next(iter(self.machines)),
            gcs_address=f"127.0.0.1:{self.head.number}",
        )

    def close(self) -> None:
        for one in (self.head, *self.machines.values()):
            one.port.close()

    def _place(self) -> None:
        """Place waiting actors on machines with a free slot, as far as Ray knows."""
        for actor in self.actors:
            if actor.machine is not None or actor.killed:
                continue
            for machine in self.machines.values():
                there = [one for one in self.actors if one.machine is machine and not one.killed]
                if len(there) < machine.room and machine.alive:
                    actor.machine = machine
                    break
