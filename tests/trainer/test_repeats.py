from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from envs import NATIVE, ComparisonPlan, Evaluator, compare, finished, reseeded
from trainer.config import (
    EvaluateConfig,
    MachineConfig,
    NightlyConfig,
    RunConfig,
    TrainConfig,
    TuningConfig,
    VirtualConfig,
)
from trainer.repeats import leave_out_repeats, same_every_time, varied


def virtual(schedule: str = "clock") -> VirtualConfig:
    return VirtualConfig("virtual", 4, schedule=schedule, seed=7)


@pytest.mark.parametrize(
    ("workload", "machine", "same"),
    [
        ("replay", virtual(), True),
        ("shop", virtual(), True),
        ("tpcc", virtual(), False),
        ("replay", virtual("delays"), False),
        ("replay", MachineConfig("threads", 4), False),
    ],
)
def test_a_replay_on_virtual_cores_is_repeatable(
    workload: str, machine: MachineConfig, same: bool
) -> None:
    assert same_every_time({"name": workload}, machine) == same


@pytest.mark.parametrize(
    ("kind", "repeats"), [(TrainConfig, 5), (EvaluateConfig, 5), (NightlyConfig, 1)]
)
def test_only_reseeded_comparisons_keep_their_repeats(kind: Any, repeats: int) -> None:
    settings = kind(workload={"name": "replay"}, machine=virtual(), seed=1)
    settings.run, settings.tuning = RunConfig(repeats=5), TuningConfig(rounds=3)
    leave_out_repeats(settings)
    assert (settings.run.repeats, settings.tuning.rounds) == (repeats, 1)


def test_repeats_of_a_replay_are_on_machines_of_several_seeds(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[dict[str, str]] = []

    def remembered(workload: Any, cores: Any, *, machine: dict[str, str], seed: int) -> Evaluator:
        opened.append(machine)
        return Evaluator({"name": "tpcc"}, cores, machine={"kind": "virtual"}, seed=seed)

    monkeypatch.setattr("trainer.repeats.Evaluator", remembered)

    def untouched(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("it would be the same run")

    run_round = varied(untouched, {"name": "replay"}, virtual(), 1, 100)
    comparison = compare(run_round, [NATIVE["silo"]], ComparisonPlan(0.1, 3, 0.0), 100)
    assert [machine["seed"] for machine in opened] == ["7", "8", "9"]
    assert [result.seed for result in comparison.rows[0].repeats] == [100, 101, 102]
    assert varied(untouched, {"name": "tpcc"}, virtual(), 1, 100) is untouched


def test_each_round_closes_its_evaluators(evaluator: Evaluator) -> None:
    closed: list[Evaluator] = []
    monitored = evaluator
    monitored.close = lambda: closed.append(monitored)  # type: ignore[method-assign]
    run_round = reseeded(lambda further: monitored, 1)
    (outcome,) = [one for _, one in run_round([NATIVE["silo"]], 0.1, warmup=0.0, seed=1)]
    assert finished(outcome).commits
    assert closed == [monitored]
