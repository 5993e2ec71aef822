"""Trainings for other objectives than throughput, on virtual cores of the compiled engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from envs.objective import Objective
from policies import load, workload_signature
from tests.trainer.tiny_training import TINY, run_of
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle
from trainer.mlflow_store import MlflowStore
from trainer.policy_registry import CANDIDATE, CHAMPION

SHORT_TYPES = ("workload=smallbank", "workload.accounts=1000")
"""Types that take about a microsecond: short runs have thousands of them."""

RARE = ("workload.write_check=2", "workload.balance=28")
"""A type that is rarer than the others."""

SHORT = (
    "evaluation.slice_seconds=0.0004",
    "evaluation.warmup_seconds=0.0001",
    "tuning.slice_seconds=0.0004",
    "tuning.warmup_seconds=0.0001",
    "champion.slice_seconds=0.0004",
    "champion.warmup_seconds=0.0001",
    "run.seconds=0.0008",
    "run.warmup=0.0001",
    "run.repeats=2",
    "verdict.repeats_max=null",
    "search.generations=2",
)


def train(folder: Path, *settings: str, code: int = 0) -> str:
    chosen = [*TINY, *SHORT_TYPES, *RARE, *SHORT, f"runs_dir={folder}/runs", *settings]
    done = CliRunner().invoke(heddle, ["train", *chosen])
    assert done.exit_code == code, done.output
    return done.output


def test_a_policy_is_trained_within_limits(tmp_path: Path) -> None:
    limits = 'objective.limits={send_payment.p90: 1s, "*.mean": 100x best, throughput: 0.001x silo}'
    output = train(tmp_path, limits)
    assert "limit: send_payment.p90 ≤ 1,000,000 µs" in output
    assert "limit: throughput ≥ " in output
    assert "use it" in output or "no gain" in output or "not decided" in output
    folder = run_of(tmp_path)
    found = Objective.from_dict(load(folder / "policy.json").provenance["objective"])
    names = [limit.name for limit in found.limits]
    types = [kind.name for kind in workload_signature("smallbank").types]
    assert names == ["send_payment.p90", *(f"{name}.mean" for name in types), "throughput"]
    state = Checkpoint.load(folder)
    assert state.objectives == [found.as_dict()]
    assert state.stretch == state.least_stretch >= 1
    assert all(
        len(ratios) == len(found.limits)
        for entry in state.samples
        for scenario in entry["scenarios"]
        for ratios in scenario["limit_ratios"]
    )
    # A worker has run 20 of the rarest type before any run but those of the first rung.
    said = " ".join(output.split())
    assert "after the first rung, and in the comparison: a worker then has run 20 of each" in said
    assert state.warmup > 0.0001
    assert load(folder / "policy.json").provenance["warmup_s"] == state.warmup
    closing = json.loads((folder / "comparison.json").read_text())
    assert Objective.from_dict(closing["objective"]) == found


@pytest.mark.slow
def test_a_policy_beyond_its_limits_is_not_recommended(tmp_path: Path) -> None:
    train(tmp_path, "objective=mean_latency", "objective.limits={mean: 0.001x silo}")
    last = Checkpoint.load(run_of(tmp_path)).history[-1]
    assert last.excess > 100.0
    assert last.incumbent_words.startswith("beyond the limits by ")
    verdict = json.loads((run_of(tmp_path) / "comparison.json").read_text())["verdict"]
    assert verdict["objective"] == "mean latency"
    assert verdict["beyond"].startswith("mean ")
    assert verdict["kind"] != "better"


@pytest.mark.slow
def test_runs_too_short_for_a_percentile_are_refused_with_the_length(tmp_path: Path) -> None:
    output = train(tmp_path, "objective=p999", code=1)
    assert "run.seconds=0.0008 is too short for a percentile of " in output
    assert "; set run.seconds=" in output


@pytest.mark.slow
def test_a_front_is_kept_measured_drawn_and_chosen_from(tmp_path: Path) -> None:
    registered = ("mlflow.enabled=true", "registered_model=fronts")
    front = ("objective.front=[throughput,mean]", "objective.prefer=mean")
    output = train(tmp_path, *front, *registered)
    folder = run_of(tmp_path)
    document = json.loads((folder / "front" / "front.json").read_text())
    assert document["objective"]["front"] == ["throughput", "mean"]
    names = [entry["name"] for entry in document["policies"]]
    assert names
    assert {entry["name"] for entry in document["baselines"]} == {"silo"}
    figures = [(entry["throughput"], entry["mean"]) for entry in document["policies"]]
    # Non-dominated: with less throughput comes less latency.
    assert figures == sorted(figures, reverse=True)
    for entry in document["policies"]:
        policy = load(folder / "front" / entry["file"])
        assert policy.name == entry["name"]
        assert policy.provenance["front"] == {
            "throughput": entry["throughput"],
            "mean": entry["mean"],
        }
        assert policy.provenance["machine"]["cores"] == 2
    assert (folder / "front.png").stat().st_size > 1000
    assert "(chosen)" in output or document["chosen"] not in names
    client = MlflowStore(None, tmp_path / "runs").connect()
    versions = client.search_model_versions("name = 'fronts'")
    others = [entry for entry in document["policies"] if entry["name"] != document["chosen"]]
    assert len(versions) == 1 + len(others)
    found = {version.description: version for version in versions}
    assert dict(client.get_registered_model("fronts").aliases) == {
        CANDIDATE: found[folder.name].version,
        CHAMPION: found[folder.name].version,
    }
    for entry in others:
        tags = found[entry["name"]].tags
        assert tags["heddle.front.mean"] == str(entry["mean"])
        assert tags["heddle.machine"] == "2 virtual cores"


@pytest.mark.slow
def test_objectives_are_resumed_and_may_not_change(tmp_path: Path) -> None:
    train(tmp_path, "objective=mean_latency", "search.generations=1")
    resume = [f"resume={run_of(tmp_path)}", "search.generations=2"]
    output = train(tmp_path, *resume, "objective=p90", code=2)
    assert "objective.name is p90, but was mean_latency" in output
    train(tmp_path, *resume)
    assert len(Checkpoint.load(run_of(tmp_path)).history) == 2
