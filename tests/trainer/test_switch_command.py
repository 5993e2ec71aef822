"""`heddle evaluate --switch`, on the stand-in for the engine."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from trainer.command.main import heddle


@pytest.fixture
def elsewhere(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    return fake_engine


def run(*words: str) -> Result:
    return CliRunner().invoke(heddle, ["evaluate", "--switch", "machine.cores=2", *words])


@pytest.mark.parametrize("machine", ["threads", "virtual"])
@pytest.mark.slow
def test_evaluate_shows_intervals_and_dips(
    elsewhere: ModuleType, tmp_path: Path, machine: str
) -> None:
    done = run(f"machine={machine}", "policy=occ,ic3", "output=found.json", "picture=found.png")
    assert done.exit_code == 0, done.output
    assert f"2 {'real' if machine == 'threads' else 'virtual'} cores" in done.output
    assert "occ → ic3 at " in done.output
    assert "no dip: the lowest interval around the switch" in done.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["policies"] == ["occ", "ic3"]
    (switch,) = found["switches"]
    assert (switch["before"], switch["after"], switch["dips"]) == ("occ", "ic3", False)
    intervals = found["result"]["intervals"]
    assert len(intervals) == 24
    assert switch["at_s"] == pytest.approx(intervals[12]["start_s"])
    assert (tmp_path / "found.png").read_bytes().startswith(b"\x89PNG")


def test_the_json_output_equals_the_file(elsewhere: ModuleType, tmp_path: Path) -> None:
    done = run("policy=occ,ic3", "output=found.json", "--format", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == json.loads((tmp_path / "found.json").read_text())


def test_files_are_written_if_the_output_is_closed(
    elsewhere: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(table: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("trainer.command.switch.print_table", closed)
    run("policy=occ,ic3", "output=found.json", "picture=found.png")
    assert json.loads((tmp_path / "found.json").read_text())["switches"]
    assert (tmp_path / "found.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("policies", ["occ+smf,ic3+smf", "occ+fifo,ic3"])
def test_policies_with_equal_schedules_are_accepted(elsewhere: ModuleType, policies: str) -> None:
    done = run(f"policy={policies}")
    assert done.exit_code == 0, done.output


def test_several_switches_at_given_times(elsewhere: ModuleType) -> None:
    done = run("policy=occ,ic3,occ", "at=2,6", "seconds=8", "intervals=16")
    assert done.exit_code == 0, done.output
    assert "occ → ic3 at 2 s" in done.output
    assert "ic3 → occ at 6 s" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["policy=silo,occ"], "policy=silo: is a protocol of the engine"),
        (["policy=occ,silo_tuned"], "policy=silo_tuned: is a protocol of the engine"),
        (["policy=occ"], "names fewer than two policies"),
        (["policy=occ,ic3+smf"], "policy=ic3+smf: has another schedule than occ"),
        (["policy=occ+smf,ic3"], "policy=ic3: has another schedule than occ+smf"),
        (["policy=occ,nope"], "policy=nope: no such policy"),
        (["at=1,2"], "at=1,2: 2 policies need 1 time, not 2"),
        (["at=20"], "each policy must run for at least 4 intervals"),
        (["at=-1"], "each policy must run for at least 4 intervals"),
        (["at=nan"], "each policy must run for at least 4 intervals"),
        (["at=0.1"], "from 0 to 0.1 is less"),
        (["policy=occ,ic3,occ", "at=6,2"], "from 6 to 2 is less"),
        (["intervals=7", "seconds=1"], "seconds=1, intervals=7: the intervals would not be whole"),
        (["seconds=20"], "not be whole microseconds; try intervals=25"),
        (["seconds=1.0000001"], "would not be whole microseconds; set another seconds="),
        (
            ["intervals=5"],
            "intervals=5: each of 2 policies must run for at least 4; try intervals=8",
        ),
        (["intervals=0"], "intervals=0: must be at least 1"),
        (["seconds=0"], "seconds=0.0: must be above 0"),
        (["picture=found.txt"], "picture=found.txt: must end in .png, .svg, .pdf"),
        (["output=gone/x.json"], "output=gone/x.json: there is no directory gone"),
        (["output=x.png", "picture=x.png"], "picture=x.png: is also output="),
    ],
)
def test_invalid_switches_are_reported(elsewhere: ModuleType, words: list[str], said: str) -> None:
    done = run(*words)
    assert (done.exit_code, said in done.output) == (2, True), done.output


def test_a_failing_run_is_reported(elsewhere: ModuleType, tmp_path: Path) -> None:
    shown = CliRunner().invoke(heddle, ["policy", "show", "ic3", "--json"])
    document = {**json.loads(shown.output), "name": "explode"}
    (tmp_path / "explode.json").write_text(json.dumps(document))
    done = run("policy=explode.json,occ")
    assert done.exit_code == 1
    assert "explode.json: worker 0 is stuck" in done.output
