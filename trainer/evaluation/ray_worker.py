"""What runs in the processes that Ray starts: an evaluator of every workload, and who it is."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from envs.engine_interface import engine_build
from trainer.config import EvaluationConfig
from trainer.evaluation.backend import MachineSpec
from trainer.evaluation.in_process import InProcess
from trainer.run_version import heddle_version


@dataclass(frozen=True)
class Identity:
    """Where a worker runs, and what it measures with.

    Attributes:
        node: Ray's id of the machine.
        host: the machine's name.
        cores: that its processes may use.
        version: of Heddle.
        build: of the engine (`engine_build`).
    """

    node: str
    host: str
    cores: int
    version: str
    build: str


def own_identity(node: str, engine_module: str) -> Identity:
    """The identity of this process."""
    cores = len(os.sched_getaffinity(0))
    build = engine_build(engine_module)
    return Identity(node, socket.gethostname(), cores, heddle_version(), build)


class RayWorker:
    """An `InProcess` backend whose constructor does not fail: Ray reports such a failure badly.

    `identity` raises what the constructor caught, as it was.
    """

    def __init__(self, config: EvaluationConfig, *scenarios: MachineSpec) -> None:
        self._engine_module = scenarios[0].engine_module
        self._backend: InProcess | None = None
        self._error: Exception | None = None
        try:
            self._backend = InProcess(config, *scenarios)
        except Exception as error:
            self._error = error

    def identity(self) -> Identity:
        """Who this is, once it can measure.

        Raises:
            ImportError: the engine is not built on its machine.
            ValueError: the engine there does not know a workload, a machine or an option.
        """
        import ray

        if self._error is not None:
            raise self._error
        return own_identity(ray.get_runtime_context().get_node_id(), self._engine_module)

    def call(self, method: str, *arguments: object, **named: object) -> object:
        """Call a method of the backend."""
        return getattr(self._backend, method)(*arguments, **named)
