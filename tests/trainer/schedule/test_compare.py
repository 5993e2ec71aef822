from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trainer.command.main import heddle
from trainer.schedule import comparison
from trainer.schedule.batch import Numbers
from trainer.schedule.policies import POLICIES, Entry, Task
from trainer.schedule.policies.simple import first_come


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(heddle, ["lab", "schedules", *map(str, arguments)])


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "w.json"
    path.write_text(json.dumps([[["r", "x"], ["w", "z"]], [["r", "z"], ["w", "x"]]] * 2))
    return path


@pytest.mark.parametrize("as_option", [False, True])
def test_every_policy_is_printed_and_written(workload: Path, as_option: bool) -> None:
    output = workload.with_name("found.json")
    words = ("--output", output) if as_option else (f"output={output}",)
    done = run("--input", workload, *words, "--evaluations", "100")
    assert done.exit_code == 0, done.output
    found = json.loads(output.read_text())
    assert [one["policy"] for one in found["policies"]] == list(POLICIES)
    assert all(name in done.output for name in POLICIES)
    assert found["policies"][0]["makespan"] == 8
    assert {one["makespan"] for one in found["policies"]} == {6, 8}
    assert all(one["seconds"] > 0 and one["finished"] for one in found["policies"])
    assert (found["transactions"], found["protocol"]) == (4, "mvtso")


def test_chosen_policies_are_compared_with_the_first(workload: Path) -> None:
    done = run("--input", workload, "--policies", "smf, fifo", "--protocol", "occ")
    assert done.exit_code == 0, done.output
    assert "× smf" in done.output
    assert "composite" not in done.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--policies", "smff"], "--policies smff: no such policy; use fifo"),
        (["--policies", ","], "--policies: must name at least one"),
        (["outptu=x.json"], "outptu=x.json: must be output=FILE"),
        (["output="], "output=: must name a file"),
        (["output=a.json", "output=b.json"], "is a second output file"),
        (["--output", "a.json", "output=b.json"], "is a second output file"),
        (["output=no/where.json"], "there is no directory no"),
        (["output=./w.json"], "is the input workload; name another file"),
        (["--seconds", "nan"], "nan"),
        (["--seconds", "0"], "0"),
        (["--evaluations", "0"], "0"),
        (["--seed", "-1"], "-1"),
        (["--protocol", "2pl"], "2pl"),
    ],
)
def test_mistyped_arguments_are_reported(
    workload: Path, arguments: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workload.parent)
    done = run("--input", workload, *arguments)
    assert done.exit_code == 2
    assert expected in done.output


def test_a_policy_is_stopped_after_its_time_limit(workload: Path) -> None:
    done = run("--input", workload, "--policies", "mcts", "--seconds", "0.0000001")
    assert done.exit_code == 0, done.output
    assert "mcts (stopped)" in done.output


def test_ctrl_c_keeps_finished_results(workload: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(task: Task) -> Numbers:
        raise KeyboardInterrupt

    policies = {"fifo": Entry(first_come, online=True), "slow": Entry(pressed, online=False)}
    monkeypatch.setattr(comparison, "POLICIES", policies)
    monkeypatch.setattr("trainer.schedule.commands.POLICIES", policies)
    output = workload.with_name("found.json")
    done = run("--input", workload, "--policies", "fifo,slow", f"output={output}")
    assert done.exit_code == 130
    assert [one["policy"] for one in json.loads(output.read_text())["policies"]] == ["fifo"]
