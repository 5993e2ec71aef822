"""The engine: an in-memory database whose concurrency control is a table.

The C++ sources lie beside this file; `engine._engine` is the compiled module, whose names are
gathered here.
"""

from engine._engine import (
    EngineError,
    Interrupted,
    Policy,
    PolicyError,
    Session,
    check_machine,
    cores,
    machines,
    probe,
    protocols,
    signature,
    version,
    workloads,
)

__all__ = [
    "EngineError",
    "Interrupted",
    "Policy",
    "PolicyError",
    "Session",
    "check_machine",
    "cores",
    "machines",
    "probe",
    "protocols",
    "signature",
    "version",
    "workloads",
]
