"""`heddle evaluate` by another objective than throughput, and under limits."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from tests.trainer.test_library_command import write_table
from trainer.command.main import heddle

QUICK = ["machine.cores=2", "run.seconds=0.01", "run.repeats=4"]
POLICIES = "policy=silo,occ,good.json"


@pytest.fixture(autouse=True)
def elsewhere(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "good.json")
    monkeypatch.setattr(fake_engine, "NOISE", 0.001)
    return fake_engine


def evaluate(*settings: str) -> Result:
    return CliRunner().invoke(heddle, ["evaluate", *QUICK, *settings], catch_exceptions=False)


def test_a_policy_within_its_limits_is_recommended() -> None:
    limits = 'objective.limits={new_order.mean: 1ms, throughput: 1.01x silo, "*.max": 100}'
    done = evaluate(POLICIES, limits, "output=found.json")
    assert done.exit_code == 0, done.output
    assert "limit: new_order.mean ≤ 1,000 µs" in done.output
    assert "limit: delivery.max ≤ 100 µs" in done.output
    assert "occ: beyond the limits: throughput " in done.output
    assert "good.json: use it" in done.output
    found = json.loads(Path("found.json").read_text())
    names = [limit["metric"] for limit in found["objective"]["limits"]]
    assert names == ["mean", "throughput", "max", "max", "max"]


def test_a_policy_beyond_its_limits_is_not_recommended() -> None:
    done = evaluate(POLICIES, "objective.limits={payment.mean: 9}", "--fail-unless-better")
    assert done.exit_code != 0
    assert "silo: beyond the limits: payment.mean 10 µs > 9 µs" in done.output
    assert "good.json: beyond its limits" in done.output


def test_policies_are_compared_by_latency() -> None:
    """All policies of the stand-in have the same latencies."""
    done = evaluate(POLICIES, "objective=mean_latency", "output=found.json")
    assert done.exit_code == 0, done.output
    found = json.loads(Path("found.json").read_text())
    assert found["objective"]["metric"] == "mean"
    assert [row["ratio_to_first"] for row in found["results"]] == [1.0, 1.0, 1.0]


def test_runs_too_short_for_a_percentile_are_refused_before_the_comparison() -> None:
    done = evaluate(POLICIES, "run.seconds=0.001", "objective.limits={delivery.p999: 1x best}")
    assert done.exit_code == 2
    assert (
        "run.seconds=0.001 is too short for a percentile of delivery: silo commits " in done.output
    )
    assert "; set run.seconds=" in done.output


def test_latencies_before_the_backoff_has_settled_are_refused() -> None:
    done = evaluate(POLICIES, "run.warmup=0", "objective=mean_latency")
    assert done.exit_code == 2
    assert "run.warmup=0 is too short for latencies" in done.output
    assert "; set run.warmup=0.01 or more" in done.output


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            "objective.limits={delivery.p99: 2x ic3}",
            "ic3 is no baseline here; there are best, silo",
        ),
        ("objective.limits={delivery.p98: 2}", "no metric p98"),
        ("objective.types=[none]", "the workload has no transaction type none"),
        ("objective=speed", "speed"),
        ("objective.margin=0.1", "margin"),
        ("machine.cores=1,2", "objective: several places are compared by throughput"),
    ],
)
def test_a_mistake_is_named(setting: str, words: str) -> None:
    other = [] if setting.startswith("objective") else ["objective=p99"]
    done = evaluate(POLICIES, setting, *other)
    assert done.exit_code == 2
    assert words in done.output
