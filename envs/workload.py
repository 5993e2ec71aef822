"""Workloads as people name them, and as the engine takes them."""

from __future__ import annotations

from collections.abc import Mapping

from envs.engine_interface import EngineModule
from envs.option_specs import TRACE_PART, OptionSpec, engine_specs
from policies import Signature

TRACED = ("replay", "shop")
"""The workloads that follow a trace: `replay` any, `shop` that of an online shop."""

PART = tuple(one.name for one in TRACE_PART)
"""Their options that say what to make their program of; the engine takes the program."""


def workload_specs(name: str) -> tuple[OptionSpec, ...]:
    """What can be set of a workload.

    Raises:
        ImportError: the engine is not built.
        ValueError: there is no such workload.
    """
    own = engine_specs("workload", name)
    return (*TRACE_PART, *own) if name in TRACED else own


def engine_workload(workload: Mapping[str, str]) -> dict[str, str]:
    """A workload's options as the engine takes them.

    Where a trace is to be followed, its replay program is made, or found again.

    Args:
        workload: its name under "name", and its options; all values strings.

    Raises:
        ValueError: the trace can't be followed; the message says why.
    """
    options = dict(workload)
    if options.get("name") not in TRACED:
        return options
    part = {key: options.pop(key) for key in PART if key in options}
    if "program" in options:
        if part:
            raise ValueError(
                f"workload.program={options['program']}: holds a part of a trace already; "
                f"leave out workload.{next(iter(part))}"
            )
        return options
    if "trace" not in part:
        raise ValueError(
            f"workload={options['name']} follows a trace: name its folder, "
            "workload.trace=FOLDER; heddle trace import makes one"
        )
    # Reading traces takes libraries that take a while to load.
    from traces.replay.prepared import prepared_program

    program = prepared_program(part["trace"], part.get("day"), part.get("hours"))
    return options | {"program": str(program)}


def workload_signature(engine: EngineModule, workload: Mapping[str, str]) -> Signature:
    """The signature of a workload.

    Raises:
        ValueError: the engine does not know it, or an option of it; or see `engine_workload`.
    """
    return Signature.from_dict(engine.signature(engine_workload(workload)))
