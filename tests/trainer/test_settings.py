from __future__ import annotations

import pytest

from trainer.command.errors import UsageError
from trainer.command.evaluate import as_list
from trainer.command.settings import (
    compose_settings,
    first_of_sweep,
    merge_overrides,
    value_of,
)
from trainer.config import EvaluateConfig, TrainConfig, workload_options
from trainer.search.evolution import EvolutionConfig


def train(*overrides: str) -> TrainConfig:
    return compose_settings("train", overrides, TrainConfig)


def test_settings_are_typed() -> None:
    config = train("workload.warehouses=2", "machine.cores=2", "search.generations=7", "seed=4")
    assert isinstance(config.search, EvolutionConfig)
    assert config.search.generations == 7
    assert config.search.parents == 8
    assert config.machine.cores == 2
    assert workload_options(config.workload) == {
        "name": "tpcc",
        "warehouses": "2",
        "mix": "read_write",
    }


def test_groups_and_presets() -> None:
    assert train("workload=ycsb", "workload.theta=1").workload["name"] == "ycsb"
    assert train("experiment=paper").search.generations == 300
    quick = train("experiment=quick", "search.seconds=30")
    assert (quick.search.generations, quick.search.seconds) == (None, 30.0)
    assert quick.workload["name"] == "tpcc"


@pytest.mark.parametrize("workload", ["tpcc", "ycsb", "micro"])
@pytest.mark.parametrize("name", ["train", "evaluate"])
def test_every_workload_composes(name: str, workload: str) -> None:
    kind = {"train": TrainConfig, "evaluate": EvaluateConfig}[name]
    config = compose_settings(name, [f"workload={workload}"], kind)  # type: ignore[type-var]
    assert config.workload["name"] == workload


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("serch.generations=3", "did you mean search.generations?"),
        ("generations=3", "did you mean search.generations?"),
        ("workload.warehouse=3", "did you mean workload.warehouses?"),
        ("+seeds=3", "did you mean seed?"),
        ("workload=tpc", "did you mean tpcc?; there are micro, tpcc, ycsb"),
        ("experiment=slow", "there are paper, quick"),
        ("search.generations=many", "search.generations=many: Value 'many'"),
        ("search.parents=3.5", "search.parents=3.5: Value '3.5'"),
        ("workload.warehouses=two", "must be a whole number, such as workload.warehouses=1"),
        ("workload.mix=3", "must be a word, such as workload.mix=read_write"),
        ("evaluation.looks=3", "evaluation.looks=3: "),
        ("run=3", "set one of run.seconds, run.repeats, run.warmup"),
        ("seed", "written key=value"),
        ("seed=[1", "can't be read"),
        ("~seed", "can't be removed"),
        ("machine.cores=0", "machine.cores=0: must be at least 1"),
        ("machine.cores=100000", "machine.cores=100000: must be at most 1024"),
        ("run.seconds=0", "run.seconds=0.0: must be above 0"),
        ("machine.kind=abacus", "machine.kind=abacus: there are threads"),
        ("run.warmup=-1", "must not be negative"),
    ],
)
def test_a_mistake_is_explained(override: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        train(override)
    assert message in str(caught.value)


def test_an_unknown_key_gets_the_list_of_valid_ones() -> None:
    with pytest.raises(UsageError) as caught:
        train("nonsense=1")
    for line in ("  workload.warehouses=1", "  search.children=4", "  search=evolution"):
        assert line in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "policies"),
    [
        ("policy=silo", ["silo"]),
        ("policy=silo,occ,a/b-c.json", ["silo", "occ", "a/b-c.json"]),
        ("policy=[silo,random:3]", ["silo", "random:3"]),
        ("policy=runs/2026-11-21_08-48-51/policy.json", ["runs/2026-11-21_08-48-51/policy.json"]),
        ("policy=a b=(c).json,occ", ["a b=(c).json", "occ"]),
    ],
)
def test_several_policies_are_a_list_and_no_sweep(typed: str, policies: list[str]) -> None:
    config = compose_settings("evaluate", [as_list(typed)], EvaluateConfig)
    assert config.policy == policies


def test_only_policy_is_a_list() -> None:
    assert as_list("seed=1,2") == "seed=1,2"


def test_later_values_replace_earlier_ones() -> None:
    assert merge_overrides(["seed=1", "workload=ycsb"], ["seed=2"]) == ["seed=2", "workload=ycsb"]
    assert value_of(["resume=a/b", "seed=1"], "resume") == "a/b"
    assert value_of(["seed=1"], "resume") is None
    assert first_of_sweep(["seed=1,2", "workload.warehouses=range(1,4)"]) == [
        "seed=1",
        "workload.warehouses=1",
    ]
