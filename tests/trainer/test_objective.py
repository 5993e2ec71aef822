"""Tests of the settings of an objective."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from envs.objective import Limit, Objective
from policies import Signature
from tests.envs.test_objective import kind, result
from tests.trainer.fake_signatures import SIGNATURES
from tests.trainer.test_robust import run
from trainer.command.typed_values import as_hydra_reads
from trainer.config import TrainedObjectiveConfig
from trainer.objective import (
    NAMES,
    check_objective,
    commits_needed,
    is_relative,
    objective_of,
    with_margin,
)

SIGNATURE = Signature.from_dict(SIGNATURES["tpcc"])
SILO = result(
    new_order=kind(500, 20.0, 100.0, 30.0),
    payment=kind(450, 5.0, 10.0, 6.0),
    delivery=kind(50, 80.0, 300.0, 90.0),
)
SLOW = result(
    new_order=kind(5, 40.0, 900.0, 90.0),
    payment=kind(4, 9.0, 19.0, 9.0),
    delivery=kind(0, 0.0, 0.0, 0.0),
)
MEASURED = {"silo": SILO, "slow": SLOW}


def limits_of(limits: dict[str, Any]) -> dict[str, float]:
    found = objective_of(TrainedObjectiveConfig(limits=limits), SIGNATURE, MEASURED)
    return {limit.name: limit.value for limit in found.limits}


def test_limits_are_numbers_durations_or_multiples_of_a_baseline() -> None:
    assert limits_of({"delivery.p99": 1000, "payment.p99_us": "1e2"}) == {
        "delivery.p99": 1000.0,
        "payment.p99": 100.0,
    }
    assert limits_of({"delivery.p99": "2ms", "mean": "0.5 ms"}) == {
        "delivery.p99": 2000.0,
        "mean": 500.0,
    }
    for text in ("5x silo", "5 x silo", "5×silo", "5* best"):
        assert limits_of({"delivery.p99": text}) == {"delivery.p99": 1500.0}
    assert limits_of({"throughput": "0.5x silo"}) == {"throughput": 450.0}
    assert limits_of({"new_order.p99": "silo"}) == {"new_order.p99": 100.0}


def test_a_limit_of_every_type_leaves_out_those_with_their_own() -> None:
    assert limits_of({"*.p99": "1x silo", "delivery.p99": 2000, "delivery.mean": 100}) == {
        "new_order.p99": 100.0,
        "payment.p99": 10.0,
        "delivery.p99": 2000.0,
        "delivery.mean": 100.0,
    }


def test_the_margin_makes_every_limit_stricter() -> None:
    objective = Objective(limits=(Limit("p99", "delivery", 100.0), Limit("throughput", None, 90.0)))
    strict = with_margin(objective, 0.1)
    assert [limit.value for limit in strict.limits] == pytest.approx([90.0, 100.0])
    assert with_margin(objective, 0.0) == objective


def test_every_name_is_an_objective() -> None:
    for name in NAMES:
        config = TrainedObjectiveConfig(name=name)
        check_objective(config, SIGNATURE, [])
        assert objective_of(config, SIGNATURE, {}).value(SILO) > 0.0
    config = TrainedObjectiveConfig(name="lp", p=4, types=["payment"])
    assert objective_of(config, SIGNATURE, {}) == Objective("l4", ("payment",))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "speed"}, "objective=speed: no such objective; there are throughput, mean"),
        ({"name": "lp", "p": 5}, "objective.p=5: must be one of 2, 3, 4, 6, 8"),
        ({"margin": 1.0}, "objective.margin=1.0: must be at least 0 and below 1"),
        ({"types": ["deliver"]}, "objective.types: the workload has no transaction type deliver; "),
        ({"limits": {"deliver.p99": 1}}, "deliver.p99: the workload has no transaction type deliv"),
        ({"limits": {"delivery.p98": 1}}, "delivery.p98: no metric p98; there are throughput"),
        ({"limits": {"p99": 0}}, "p99: a limit must be above 0, not 0"),
        ({"limits": {"p99": -1}}, "p99: a limit must be above 0, not -1"),
        ({"limits": {"p99": "nan"}}, "p99: a limit must be above 0, not nan"),
        ({"limits": {"p99": True}}, "p99: True is no limit; write a number, a duration such as"),
        ({"limits": {"p99": None}}, "p99: None is no limit"),
        ({"limits": {"p99": [1]}}, "no limit; write a number"),
        ({"limits": {"p99": "5x"}}, "p99: '5x' is no limit; write a number"),
        ({"limits": {"p99": "5..1x silo"}}, "p99: '5..1x silo' is no limit"),
        ({"limits": {"cv": "2ms"}}, "cv: '2ms' is no limit"),
        (
            {"limits": {"p99": "2x occ"}},
            "occ is no baseline here; there are best, silo",
        ),
        (
            {"limits": {"delivery.abort_rate": 1}},
            "abort rate is of the whole workload; write abort",
        ),
    ],
)
def test_wrong_settings_are_named_with_the_cure(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="objective") as found:
        check_objective(TrainedObjectiveConfig(**settings), SIGNATURE, ["silo"])
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("objective=speed", "objective=speed"),
        ("objective.limits={deliver.p99: 1}", "no transaction type deliver"),
        ("objective.limits=5", "objective.limits"),
        ("objective.limits=[p99]", "objective.limits"),
        ("objective.front=[p99]", "needs two or more different metrics"),
        ("objective.front=[p99,speed]", "no metric speed"),
        ("objective.front=[p99,mean]", "objective.prefer=cv: must be balanced or a metric of"),
    ],
)
def test_wrong_settings_end_in_one_message(
    fake_engine: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    prefer = ["objective.prefer=cv"] if "prefer" in message else []
    done = run("train", setting, *prefer)
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert "Traceback" not in done.output
    assert not Path("runs").exists()


def test_quoted_types_and_units_are_read_from_the_command_line() -> None:
    (typed,) = as_hydra_reads(["objective.limits={'*.p99': 5x silo, \"pay.p99\" : 2ms}"], "train")
    assert typed == "++objective.limits={*.p99: 5x silo, pay.p99 : 2ms}"


def test_a_baseline_without_the_figure_is_named() -> None:
    config = TrainedObjectiveConfig(limits={"delivery.p99": "5x slow"})
    check_objective(config, SIGNATURE, ["silo", "slow"])
    with pytest.raises(ValueError, match=r"slow has no delivery\.p99, because it commits nothing"):
        objective_of(config, SIGNATURE, MEASURED)


def test_only_limits_that_name_a_baseline_are_relative() -> None:
    assert not is_relative(TrainedObjectiveConfig(limits={"p99": "2ms"}), SIGNATURE)
    assert is_relative(TrainedObjectiveConfig(limits={"p99": "2ms", "mean": "silo"}), SIGNATURE)


def test_percentiles_need_commits_of_their_types() -> None:
    objective = Objective("mean", limits=(Limit("p999", "delivery", 1.0), Limit("cv", None, 1.0)))
    assert commits_needed(objective, SIGNATURE, 3) == {"delivery": pytest.approx(3000)}
    assert commits_needed(Objective("p90"), SIGNATURE, 1) == {
        name: pytest.approx(10) for name in SIGNATURE.type_names
    }
    assert commits_needed(Objective(), SIGNATURE, 1) == {}
