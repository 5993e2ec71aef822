"""Which machines of a Ray cluster are there: asked of Ray, and of their ports."""

from __future__ import annotations

import socket
import time
from collections.abc import Collection
from dataclasses import dataclass
from types import ModuleType

PROBE_EVERY_S = 2.0
"""Between two probes of the machines that measure."""

PROBE_SECONDS = 1.0
"""A machine that accepts no connection for so long has failed a probe."""

HEAD = "head"
"""Stands for the cluster's head among the ids of machines."""

PROBES = 2
"""Failed ones in a row after which a machine is lost."""


@dataclass(frozen=True)
class _Node:
    address: str
    port: int
    alive: bool

    def answers(self) -> bool:
        """Whether its raylet accepts connections."""
        return _answers(self.address, self.port)


class RayNodes:
    """Watches the machines of a cluster.

    Ray declares a machine dead when it missed its health checks, by default some 13 s after its
    raylet was killed, and later where the network swallows packets. The port of a raylet that was
    killed refuses connections at once. A machine that can't be reached from here while it works,
    as through Ray's client, is never lost by its port.

    Args:
        ray: the module, connected.
    """

    def __init__(self, ray: ModuleType) -> None:
        self._ray = ray
        self._own, self._head = _own_place(ray)
        # The own machine can always be reached, unless Ray on it was ended.
        self._reached = {one: node for one, node in self._known().items() if one == self._own}
        self._failed: dict[str, int] = {}
        self._next = 0.0

    @property
    def own(self) -> str:
        """The id of the machine that this process is connected to."""
        return self._own

    def lost(self, working: Collection[str], *, at_once: bool = False) -> set[str]:
        """Those of the machines, and the own one, that are gone; the own one with the head.

        Args:
            working: ids of machines that workers run on.
            at_once: probe now, not only if the last probe is long enough ago; one failure is
                enough.
        """
        if not at_once and time.monotonic() < self._next:
            return set()
        limit = 1 if at_once else PROBES
        if self._head is not None and not _answers(*self._head):
            # Ray's calls would wait for the head for a minute, and then end this process.
            self._failed[HEAD] = self._failed.get(HEAD, 0) + 1
            found = {self.own} if self._failed[HEAD] >= limit else set()
        else:
            self._failed[HEAD] = 0
            found = self._lost_of({*working, self.own}, limit)
        self._next = time.monotonic() + PROBE_EVERY_S
        return found

    def _lost_of(self, watched: set[str], limit: int) -> set[str]:
        known = self._known()
        found = {one for one in watched if one in known and not known[one].alive}
        for one in watched - found:
            if one not in self._reached:
                if one in known and known[one].answers():
                    self._reached[one] = known[one]
            elif self._reached[one].answers():
                self._failed[one] = 0
            else:
                self._failed[one] = self._failed.get(one, 0) + 1
                if self._failed[one] >= limit:
                    found.add(one)
        return found

    def _known(self) -> dict[str, _Node]:
        try:
            nodes = self._ray.nodes()
        except Exception:  # Ray raises errors of several kinds while its head is away
            return {}
        return {
            node["NodeID"]: _Node(
                node["NodeManagerAddress"], node["NodeManagerPort"], node["Alive"]
            )
            for node in nodes
        }


def _answers(address: str, port: int) -> bool:
    """Whether a port accepts connections, which a busy process's does, too: the kernel does."""
    try:
        with socket.create_connection((address, port), timeout=PROBE_SECONDS):
            return True
    except OSError:
        return False


def _own_place(ray: ModuleType) -> tuple[str, tuple[str, int] | None]:
    """The id of the own machine, and where the cluster's head listens."""
    try:
        context = ray.get_runtime_context()
        host, _, port = str(context.gcs_address).rpartition(":")
        return str(context.get_node_id()), (host.strip("[]"), int(port))
    except Exception:  # through Ray's client there are none, and no documented error says so
        return "", None
