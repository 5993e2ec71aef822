"""`heddle machine calibrate` and `heddle machine compare`, on the stand-in for the engine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from envs import calibration
from envs.host import this_host
from trainer.command.main import heddle
from trainer.command.settings import compose_settings
from trainer.config import EvaluateConfig, VirtualConfig

QUICK = ("rounds=2", "virtual_rounds=1", "random=2", "mutated=3")


def run(*words: str) -> Result:
    return CliRunner().invoke(heddle, list(words))


@pytest.fixture
def elsewhere(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibration, "CASES", (({"name": "tpcc"}, "silo"),))
    return fake_engine


@pytest.mark.parametrize("rounds", [1, 2])
def test_calibrated_costs_can_be_used(elsewhere: ModuleType, tmp_path: Path, rounds: int) -> None:
    done = run("machine", "calibrate", "output=mine.yaml", f"rounds={rounds}", "seconds=0.01")
    assert done.exit_code == 0, done.output
    assert "costs: mine.yaml" in done.output
    config = compose_settings(
        "evaluate", ["machine=virtual", "machine/costs=mine.yaml"], EvaluateConfig
    )
    assert isinstance(config.machine, VirtualConfig)
    assert config.machine.costs.memory_ns == 130.0
    assert config.machine.costs.atomic_ns == 2.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word_ns: 1\n", "cores_per_socket is missing"),
        ("speed: 3\n", "speed is not a cost"),
        ("- 1\n", "cores_per_socket is missing"),
        ("a: [\n", "is not YAML"),
        ("", "cores_per_socket is missing"),
    ],
)
def test_a_file_without_costs_is_reported(
    elsewhere: ModuleType, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    done = run("evaluate", "policy=silo", "machine=virtual", "machine/costs=bad.yaml")
    assert done.exit_code == 2
    assert message in done.output
    assert "machine/costs=bad.yaml" in done.output


def test_an_invalid_cost_is_reported(elsewhere: ModuleType, tmp_path: Path) -> None:
    from trainer.command.costs import published_costs

    costs = published_costs() | {"memory_ns": "far"}
    (tmp_path / "bad.yaml").write_text("".join(f"{k}: {v}\n" for k, v in costs.items()))
    done = run("evaluate", "policy=silo", "machine=virtual", "machine/costs=bad.yaml")
    assert done.exit_code == 2
    assert "memory_ns is 'far'; it must be a number" in done.output


def test_unwritable_output_is_reported_first(elsewhere: ModuleType) -> None:
    done = run("machine", "calibrate", "output=nowhere/mine.yaml")
    assert done.exit_code == 2
    assert "there is no directory nowhere" in done.output


@pytest.mark.slow
def test_fidelity_is_reported_and_drawn(elsewhere: ModuleType, tmp_path: Path) -> None:
    done = run("machine", "compare", *QUICK, "machine.cores=1", "output=found")
    assert done.exit_code == 0, done.output
    assert "Spearman" in done.output
    assert "regret" in done.output
    found = json.loads((tmp_path / "found" / "fidelity.json").read_text())
    read = run("machine", "compare", *QUICK, "machine.cores=1", "--format", "json")
    assert json.loads(read.stdout).keys() == found.keys()
    names = [point["name"] for point in found["points"]]
    assert len(names) == len(set(names)) == 6 + 2 + 3
    assert found["machine"]["cores"] == "1"
    assert (tmp_path / "found" / "fidelity.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("machine=threads",), "must be the virtual machine"),
        (("machine.cores=256",), "real cores are usable here"),
        (("policy=silo", "random=0", "mutated=0"), "1 policies to compare: three are needed"),
        (("policy=sill",), "did you mean silo?"),
        (("random=-1",), "must not be negative"),
        (("rounds=0",), "rounds=0: must be at least 1"),
    ],
)
def test_a_mistake_is_explained(
    elsewhere: ModuleType, words: tuple[str, ...], message: str
) -> None:
    done = run("machine", "compare", *words)
    assert done.exit_code == 2
    assert message in done.output


def test_calibration_refuses_a_processor_quota(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = replace(this_host(), quota=0.5, cores=2)
    monkeypatch.setattr("trainer.command.calibrate.this_host", lambda: host)
    done = run("machine", "calibrate", "output=mine.yaml")
    assert done.exit_code == 2
    assert "to the time of 0.5 of 2 cores (cpu.max)" in done.output


def test_an_interrupted_calibration_keeps_the_hardware(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*arguments: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(calibration, "_virtual_ns", interrupted)
    done = run("machine", "calibrate", "output=mine.yaml", "rounds=1", "seconds=0.01")
    assert done.exit_code == 130
    assert "were not measured" in done.output
    text = (tmp_path / "mine.yaml").read_text()
    assert "memory_ns: 130.0" in text
    assert "# Not measured: lookup_ns: interrupted." in text
