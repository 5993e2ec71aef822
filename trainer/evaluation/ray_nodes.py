"""Detection of lost machines in a Ray cluster, by Ray's state and by their ports."""

from __future__ import annotations

import socket
import time
from collections.abc import Collection
from dataclasses import dataclass
from types import ModuleType

PROBE_EVERY_S = 2.0
"""Seconds between two probes of the machines that measure."""

PROBE_SECONDS = 1.0
"""Seconds without an accepted connection after which a probe has failed."""

HEAD = "head"
"""The id of the cluster's head among the ids of machines."""

PROBES = 2
"""Consecutive failed probes after which a machine is lost."""


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

    Ray declares a machine dead when it has missed its health checks: by default some 13 s after its
    raylet was killed, and later if the network drops packets. The port of a killed raylet refuses
    connections at once. A machine that can't be reached from here while it works, as through Ray's
    client, is never lost by its port.

    Args:
        ray: the module, connected.
    """

    def __init__(self, ray: ModuleType) -> None:
        self._ray = ray
        self._own, self._head = _own_place(ray)
        # This machine can always be reached, unless its Ray was stopped.
        self._reached = {
            node_id: node for node_id, node in self._known().items() if node_id == self._own
        }
        self._failed: dict[str, int] = {}
        self._next = 0.0

    @property
    def own(self) -> str:
        """The id of the machine to which this process is connected."""
        return self._own

    def lost(self, working: Collection[str], *, at_once: bool = False) -> set[str]:
        """Return those machines, this one included, that are gone; this one if the head is gone.

        Args:
            working: ids of machines with workers.
            at_once: probe now, whenever the last probe was; a single failure is enough.
        """
        if not at_once and time.monotonic() < self._next:
            return set()
        limit = 1 if at_once else PROBES
        if self._head is not None and not _answers(*self._head):
            # Ray's calls would wait a minute for the head, and then terminate this process.
            self._failed[HEAD] = self._failed.get(HEAD, 0) + 1
            found = {self.own} if self._failed[HEAD] >= limit else set()
        else:
            self._failed[HEAD] = 0
            found = self._lost_of({*working, self.own}, limit)
        self._next = time.monotonic() + PROBE_EVERY_S
        return found

    def _lost_of(self, watched: set[str], limit: int) -> set[str]:
        known = self._known()
        found = {node_id for node_id in watched if node_id in known and not known[node_id].alive}
        for node_id in watched - found:
            if node_id not in self._reached:
                if node_id in known and known[node_id].answers():
                    self._reached[node_id] = known[node_id]
            elif self._reached[node_id].answers():
                self._failed[node_id] = 0
            else:
                self._failed[node_id] = self._failed.get(node_id, 0) + 1
                if self._failed[node_id] >= limit:
                    found.add(node_id)
        return found

    def _known(self) -> dict[str, _Node]:
        try:
            nodes = self._ray.nodes()
        except Exception:  # Ray raises errors of several kinds while its head is unreachable
            return {}
        return {
            node["NodeID"]: _Node(
                node["NodeManagerAddress"], node["NodeManagerPort"], node["Alive"]
            )
            for node in nodes
        }


def _answers(address: str, port: int) -> bool:
    """Return whether a port accepts connections; the kernel accepts even for a busy process."""
    try:
        with socket.create_connection((address, port), timeout=PROBE_SECONDS):
            return True
    except OSError:
        return False


def _own_place(ray: ModuleType) -> tuple[str, tuple[str, int] | None]:
    """Return the id of this machine, and the address of the cluster's head."""
    try:
        context = ray.get_runtime_context()
        host, _, port = str(context.gcs_address).rpartition(":")
        return str(context.get_node_id()), (host.strip("[]"), int(port))
    except Exception:  # Ray's client has no such state, and no documented error says so
        return "", None
