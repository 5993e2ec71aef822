"""Seeds of repeats: repeats of deterministic runs are left out, or made with different seeds.

A replay draws nothing, so on virtual cores each repeat of it is identical, to the bit. Training and
evaluation therefore compare on machines with several seeds (`reseeded`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from envs import Evaluator, RunRound, reseeded
from envs.workload import TRACED
from trainer.config import (
    ChampionConfig,
    EvaluateConfig,
    MachineConfig,
    RunConfig,
    TrainConfig,
    TuningConfig,
    VirtualConfig,
    workload_options,
)

VARIED = (TrainConfig, EvaluateConfig)
"""The settings of commands that compare on machines with several seeds."""

CLOCK = "clock"
"""The schedule whose only random numbers come from `machine.seed`."""

SEED_STRIDE = 1_000_003
"""Distance between the inputs of two seeds; no run is long enough to reach the next seed's."""


def same_every_time(workload: Mapping[str, Any], machine: object) -> bool:
    """Return whether all runs on a machine are identical, to the bit."""
    if workload.get("name") not in TRACED or not isinstance(machine, VirtualConfig):
        return False
    return machine.schedule == CLOCK


def varied(
    run_round: RunRound, workload: Mapping[str, Any], machine: MachineConfig, seed: int, first: int
) -> RunRound:
    """Return the measurement for a comparison: reseeded if all runs would be identical.

    Args:
        run_round: measures on the machine as it is set.
        workload: the settings of the workload.
        machine: the settings of the machine.
        seed: of the population.
        first: seed of the first repeat.
    """
    if not same_every_time(workload, machine):
        return run_round
    assert isinstance(machine, VirtualConfig)

    def open_evaluator(further: int) -> Evaluator:
        options = replace(machine, seed=machine.seed + further).options()
        return Evaluator(
            workload_options(dict(workload)), machine.cores, machine=options, seed=seed
        )

    return reseeded(open_evaluator, first)


def leave_out_repeats(settings: object) -> None:
    """Set numbers of repeats to 1 in a command's settings if all runs would be identical."""
    workload, machine = getattr(settings, "workload", {}), getattr(settings, "machine", None)
    if not same_every_time(workload, machine):
        return
    for name, value in vars(settings).items():
        match value:
            case TuningConfig():
                setattr(settings, name, replace(value, rounds=1, finalists=1, final_rounds=1))
            case ChampionConfig():
                setattr(settings, name, replace(value, rounds=1))
            case RunConfig() if name == "run" and not isinstance(settings, VARIED):
                setattr(settings, name, replace(value, repeats=1))
