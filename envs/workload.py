"""Convert the options of workloads to those of the engine."""

from __future__ import annotations

from collections.abc import Mapping

from envs.engine_interface import EngineModule
from envs.option_specs import TRACE_PART, OptionSpec, engine_specs
from policies import Signature

TRACED = ("replay", "shop")
"""The workloads that replay a trace. `replay` takes any trace, `shop` that of an online shop."""

PART = tuple(spec.name for spec in TRACE_PART)
"""The options that choose the part of a trace to replay."""


def workload_specs(name: str) -> tuple[OptionSpec, ...]:
    """Return the options of a workload.

    Raises:
        ImportError: the engine is not built.
        ValueError: the workload is unknown.
    """
    own = engine_specs("workload", name)
    return (*TRACE_PART, *own) if name in TRACED else own


def engine_workload(workload: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a workload for the engine.

    For a workload that replays a trace this makes the replay program, or finds an existing one.

    Args:
        workload: name of the workload under `name`, and its options; all values are strings.

    Raises:
        ValueError: the trace cannot be replayed; the message says why.
    """
    options = dict(workload)
    if options.get("name") not in TRACED:
        return options
    part = {key: options.pop(key) for key in PART if key in options}
    if "program" in options:
        if part:
            raise ValueError(
                f"workload.program={options['program']}: already holds a part of a trace; "
                f"leave out workload.{next(iter(part))}"
            )
        return options
    if "trace" not in part:
        raise ValueError(
            f"workload={options['name']} replays a trace: set workload.trace=FOLDER; "
            "heddle trace import makes one"
        )
    # Imported here because the libraries for traces take long to load.
    from traces.replay.prepared import prepared_program

    excluded = tuple(name for name in part.get("exclude", "").split(",") if name)
    program = prepared_program(part["trace"], part.get("day"), part.get("hours"), excluded)
    return options | {"program": str(program)}


def workload_signature(engine: EngineModule, workload: Mapping[str, str]) -> Signature:
    """Return the signature of a workload.

    Raises:
        ValueError: the workload or an option is unknown, or the trace cannot be replayed.
    """
    return Signature.from_dict(engine.signature(engine_workload(workload)))
