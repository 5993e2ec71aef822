"""Repeats that can't differ from one another are not made, or made to differ.

A replay draws nothing, and on virtual cores it begins at the beginning every time: run again, it is
the same run, to the bit. Training and evaluating compare on machines of several seeds (`reseeded`).
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
"""The settings of commands that compare on machines of several seeds."""

CLOCK = "clock"
"""The schedule under which nothing is drawn but by `machine.seed`."""


def same_every_time(workload: Mapping[str, Any], machine: object) -> bool:
    """Whether a run on one machine is the same every time, to the bit."""
    if workload.get("name") not in TRACED or not isinstance(machine, VirtualConfig):
        return False
    return machine.schedule == CLOCK


def varied(
    run_round: RunRound, workload: Mapping[str, Any], machine: MachineConfig, seed: int, first: int
) -> RunRound:
    """How a comparison measures: as it is, or where that is the same every time, reseeded.

    Args:
        run_round: measures on the machine as it is set.
        workload: its settings.
        machine: the machine's.
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
    """Set the numbers of runs of the same to 1, in the settings of a command that makes them."""
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
