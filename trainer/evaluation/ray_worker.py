"""The code of Ray's worker processes: an evaluator of every scenario, and its identity."""

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
    """The machine of a worker, and the software it measures with.

    Attributes:
        node: Ray's id of the machine.
        host: the machine's name.
        cores: the number of cores available to its processes.
        version: of Heddle.
        build: of the engine (`engine_build`).
    """

    node: str
    host: str
    cores: int
    version: str
    build: str


def own_identity(node: str, engine_module: str) -> Identity:
    """Return the identity of this process."""
    cores = len(os.sched_getaffinity(0))
    build = engine_build(engine_module)
    return Identity(node, socket.gethostname(), cores, heddle_version(), build)


class RayWorker:
    """An `InProcess` backend whose constructor does not fail: Ray reports such a failure badly.

    `identity` raises the exception of the constructor unchanged.
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
        """Return the worker's identity once it can measure.

        Raises:
            ImportError: the engine is not built on its machine.
            ValueError: its engine does not have a workload, a machine or an option.
        """
        import ray

        if self._error is not None:
            raise self._error
        return own_identity(ray.get_runtime_context().get_node_id(), self._engine_module)

    def call(self, method: str, *arguments: object, **named: object) -> object:
        """Call a method of the backend."""
        return getattr(self._backend, method)(*arguments, **named)
