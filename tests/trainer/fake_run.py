"""A training run on the stand-in engine: a function, and a program for tests that kill it.

python -m tests.trainer.fake_run FOLDER GENERATIONS SECONDS_PER_RUN
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from policies import Signature
from tests.trainer import fake_engine
from tests.trainer.stand_in import use_stand_in
from trainer.config import (
    ChampionConfig,
    EvaluationConfig,
    MachineConfig,
    MlflowConfig,
    RunConfig,
    TrainConfig,
    TuningConfig,
    ValidationConfig,
    VerdictConfig,
)
from trainer.evaluation import MachineSpec, build_backend
from trainer.outcome import Outcome
from trainer.progress import LineDisplay
from trainer.record import Record
from trainer.run import Training
from trainer.run_folder import RunFolder
from trainer.scenario import Scenario, single_scenario
from trainer.search.evolution import EvolutionConfig

MODULE = "tests.trainer.fake_engine"


def settings(generations: int | None, **changed: Any) -> TrainConfig:
    """Return settings of a small run, in process and without a record."""
    values: dict[str, Any] = {
        "workload": {"name": "tpcc", "warehouses": 1},
        "machine": MachineConfig("threads", 2),
        "search": EvolutionConfig(name="evolution", generations=generations),
        "evaluation": EvaluationConfig(backend="in_process"),
        "tuning": TuningConfig(rounds=1, finalists=2, final_rounds=2),
        "champion": ChampionConfig(rounds=4),
        "run": RunConfig(seconds=0.1, repeats=3, warmup=0.0),
        "verdict": VerdictConfig(repeats_max=None),
        "mlflow": MlflowConfig(enabled=False),
        "seed": 3,
    }
    return TrainConfig(**{**values, **changed})


def virtual_settings(generations: int | None, **changed: Any) -> TrainConfig:
    """Return the same on four virtual cores, with a small validation on three real ones."""
    validation = ValidationConfig(
        seconds=0.1,
        repeats=3,
        warmup=0.0,
        cores=3,
        tuning=TuningConfig(rounds=1, finalists=2, final_rounds=2),
    )
    values = {"machine": MachineConfig("virtual", 4), "validation": validation}
    return settings(generations, **{**values, **changed})


def of_warehouses(config: TrainConfig, *numbers: int) -> list[Scenario]:
    """Return scenarios that differ in their warehouses."""
    workloads = [{**config.workload, "warehouses": number} for number in numbers]
    return [
        Scenario(at, f"warehouses {workload['warehouses']}", replace(config, workload=workload))
        for at, workload in enumerate(workloads, start=1)
    ]


def make_training(
    config: TrainConfig, folder: Path, scenarios: Sequence[Scenario] = ()
) -> Training:
    """Return a training in a folder, on the stand-in engine."""
    folder.mkdir(parents=True, exist_ok=True)
    display = LineDisplay(Console(file=io.StringIO()))
    specs = [
        MachineSpec(
            scenario.workload,
            config.machine.cores,
            config.seed,
            1 << 30,
            config.machine.options(),
            MODULE,
        )
        for scenario in scenarios or single_scenario(config)
    ]
    return Training(
        config,
        Signature.from_dict(fake_engine.signature({"name": "tpcc"})),
        RunFolder(folder),
        build_backend(config.evaluation, *specs),
        display,
        Record(config.mlflow, folder.parent, display.say),
        scenarios=scenarios,
    )


def train(config: TrainConfig, folder: Path, scenarios: Sequence[Scenario] = ()) -> Outcome:
    """Run a training to its end."""
    return make_training(config, folder, scenarios).run()


if __name__ == "__main__":
    use_stand_in(pytest.MonkeyPatch()).SECONDS_PER_RUN = float(sys.argv[3])
    train(settings(int(sys.argv[2])), Path(sys.argv[1]))
