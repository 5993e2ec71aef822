"""The engine's declarations of options in Python."""

from __future__ import annotations

from dataclasses import fields

import pytest

import engine
from envs.option_specs import OptionSpec, engine_specs
from envs.workload import PART, TRACED, workload_specs
from trainer.config import CostsConfig, MachineConfig, ScheduleConfig, VirtualConfig

GROUPS = [
    *(("workload", name) for name in engine.workloads()),
    *(("machine", name) for name in engine.machines()),
    ("machine/costs", ""),
    ("schedule", ""),
]


@pytest.mark.parametrize(("group", "name"), GROUPS)
def test_a_declaration_is_complete(group: str, name: str) -> None:
    specs = engine_specs(group, name)
    assert specs
    assert len({one.name for one in specs}) == len(specs)
    for one in specs:
        assert one.sentence
        assert not one.sentence.endswith(".")
        assert one.sentence.isascii()
        if one.least is not None and isinstance(one.default, int | float):
            assert one.most is not None
            assert one.least <= one.default <= one.most
        if one.choices and one.default is not None:
            assert one.default in one.choices


def test_kinds_and_values_come_from_the_engine() -> None:
    by_name = {one.name: one for one in engine_specs("workload", "ycsb")}
    theta, index = by_name["theta"], by_name["index"]
    assert (theta.kind, theta.default, theta.least, theta.most) == ("real", 0.99, 0.0, 4.0)
    assert (index.kind, index.default, index.choices) == ("choice", "hash", ("hash", "ordered"))
    assert (by_name["record_bytes"].least, by_name["record_bytes"].most) == (8, 4096)
    assert by_name["operations"].words == "operations of a transaction (1 to 64)"
    assert by_name["index"].allowed == "hash, ordered"


def test_choices_that_the_sentence_names_are_not_listed_again() -> None:
    spec = OptionSpec(
        "reads", "choice", "latest: now; snapshot: then", choices=("latest", "snapshot")
    )
    assert spec.words == "latest: now; snapshot: then"


def test_workloads_that_follow_a_trace_select_a_part() -> None:
    for name in engine.workloads():
        names = tuple(one.name for one in workload_specs(name))
        assert (names[: len(PART)] == PART) == (name in TRACED)


@pytest.mark.parametrize(
    ("group", "name", "message"),
    [
        ("search", "", "group 'search' is not known; valid: workload, machine, "),
        ("workload", "tpc", "workload 'tpc' is not known; valid: tpcc, tpce, ycsb"),
        ("machine", "abacus", "'abacus'; allowed: one of threads, virtual"),
    ],
)
def test_an_unknown_group_or_name_is_refused(group: str, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        engine_specs(group, name)


@pytest.mark.parametrize(
    ("config", "group", "name", "extra"),
    [
        (MachineConfig, "machine", "threads", {"kind"}),
        (VirtualConfig, "machine", "virtual", {"kind", "costs"}),
        (CostsConfig, "machine/costs", "", set()),
        (ScheduleConfig, "schedule", "", set()),
    ],
)
def test_typed_settings_match_the_declarations(
    config: type, group: str, name: str, extra: set[str]
) -> None:
    types = {"integer": "int", "real": "float", "flag": "bool", "names": "list[str]"}
    declared = {one.name: types.get(one.kind, "str") for one in engine_specs(group, name)}
    typed = {one.name: str(one.type).removesuffix(" | None") for one in fields(config)}
    assert {key: kind for key, kind in typed.items() if key not in extra} == declared
