"""Integration: commands from a synthetic trace to a policy for the shop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from policies import load
from tests.trainer.tiny_training import TINY, run_of
from trainer.command.main import heddle


def run(*arguments: str) -> str:
    done = CliRunner().invoke(heddle, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.slow
def test_from_a_trace_to_a_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run("trace", "synth", "shop", "--days", "1", "--requests-per-day", "2000")
    shop = ("workload=shop", "workload.trace=shop")

    virtual = ("machine=virtual", "machine.cores=4", "run.repeats=1")
    policies = "policy=silo,two_phase_locking,ic3"
    run("evaluate", policies, *shop, *virtual, "run.seconds=0.002", "output=results.json")
    results = json.loads(Path("results.json").read_text())
    assert "two_phase_locking" in json.dumps(results)

    checked = run("check", *shop, "trials=5", "machine.cores=4", "seconds=0.0005")
    assert "no failures found" in checked

    run("train", *shop, *TINY, "search.generations=2")
    assert load(run_of(tmp_path) / "policy.json").signature.workload == "shop"
