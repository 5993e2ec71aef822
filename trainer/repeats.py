"""Repeats that can't differ from one another are not made.

A replay draws nothing, and on virtual cores it begins at the beginning every time: run again, it is
the same run, to the bit.
"""

from __future__ import annotations

from dataclasses import replace

from envs.workload import TRACED
from trainer.config import ChampionConfig, RunConfig, TuningConfig, VirtualConfig

CLOCK = "clock"
"""The schedule under which nothing is drawn but by `machine.seed`."""


def leave_out_repeats(settings: object) -> None:
    """Set the numbers of runs of the same to 1, in the settings of a command that makes them."""
    workload, machine = getattr(settings, "workload", {}), getattr(settings, "machine", None)
    if workload.get("name") not in TRACED or not isinstance(machine, VirtualConfig):
        return
    if machine.schedule != CLOCK:
        return
    for name, value in vars(settings).items():
        match value:
            case TuningConfig():
                setattr(settings, name, replace(value, rounds=1, finalists=1, final_rounds=1))
            case ChampionConfig():
                setattr(settings, name, replace(value, rounds=1))
            case RunConfig() if name == "run":  # what is validated, on real cores, differs
                setattr(settings, name, replace(value, repeats=1))
