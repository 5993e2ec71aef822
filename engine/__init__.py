"""The engine: an in-memory database whose concurrency control is a table.

The C++ sources lie beside this file; `engine._engine` is the compiled module, whose names are
gathered here.
"""

from engine._engine import (
    EngineError,
    History,
    HotKeyPredictor,
    Interrupted,
    Policy,
    PolicyError,
    RunOptions,
    ScheduleWalk,
    SchedulingProblem,
    Session,
    TransactionBatch,
    backoff_alphas,
    backoff_initials_us,
    check_machine,
    check_schedule,
    cores,
    machines,
    option_specs,
    probe,
    protocols,
    run_trial,
    signature,
    version,
    workloads,
)

__all__ = [
    "EngineError",
    "History",
    "HotKeyPredictor",
    "Interrupted",
    "Policy",
    "PolicyError",
    "RunOptions",
    "ScheduleWalk",
    "SchedulingProblem",
    "Session",
    "TransactionBatch",
    "backoff_alphas",
    "backoff_initials_us",
    "check_machine",
    "check_schedule",
    "cores",
    "machines",
    "option_specs",
    "probe",
    "protocols",
    "run_trial",
    "signature",
    "version",
    "workloads",
]
