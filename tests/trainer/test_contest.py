from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from omegaconf import OmegaConf

from envs import Comparison, TunedBackoff, untuned
from policies import Encoding, Signature
from policies.schedule import NamedClassifier
from tests.trainer.stand_in import use_stand_in
from tests.trainer.test_sweep import SMALL
from trainer.checkpoint import Checkpoint, Incumbent, WritingError
from trainer.command.main import heddle
from trainer.config import TrainConfig
from trainer.contest.picture import case_figure
from trainer.contest.runs import Entrant, Reference
from trainer.contest.standing import (
    CaseStanding,
    MethodStanding,
    Overtaking,
    RunStanding,
    overtaking,
)
from trainer.contest.statistics import Curve

FOLDER = Path("runs/sweeps/mine")
FRESH = ["evaluation.backend=in_process", "threads.enabled=false", "rounds=2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a sweep of two methods and two seeds, once for the file."""
    folder = tmp_path_factory.mktemp("contest")
    settings = [text for text in SMALL if not text.startswith("search.")]
    settings += ["search.generations=null", "search.evaluations=60"]
    settings += ["machine=virtual", "machine.cores=4", "validation.enabled=false"]
    with on_stand_in(folder):
        done = run("train", "-m", *settings, "search=local,random", "seed=1,2", "sweep=mine")
    assert done.exit_code == 0, done.output
    return folder / "runs"


@contextmanager
def on_stand_in(folder: Path) -> Iterator[None]:
    """Replace the engine, and make a folder the working directory, for a fixture of the file."""
    with pytest.MonkeyPatch.context() as patch:
        use_stand_in(patch)
        patch.chdir(folder)
        yield


@pytest.fixture(scope="module")
def runs_after_contest(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a contest of the sweep, once for the file."""
    folder = tmp_path_factory.mktemp("measured")
    shutil.copytree(runs, folder / "runs")
    with on_stand_in(folder):
        done = run("lab", "searches", "sweep=mine", *FRESH)
    assert done.exit_code == 0, done.output
    return folder / "runs"


@pytest.fixture
def measured(elsewhere: ModuleType, runs_after_contest: Path) -> None:
    """Copy the sweep and its contest for a test, which measures nothing again."""
    shutil.rmtree("runs")
    shutil.copytree(runs_after_contest, "runs")


@pytest.fixture(autouse=True)
def elsewhere(
    runs: Path, fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """Copy the sweep for a test."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(runs, "runs")
    return fake_engine


@pytest.fixture
def drawn() -> None:
    """Ask for pictures in a test that looks at them."""


@pytest.fixture(autouse=True)
def quick_picture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace pictures where no test looks at them: drawing takes longer than the contest."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr("trainer.command.contest.plot_case", lambda *_: None)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(heddle, arguments, catch_exceptions=False)


def add_to_sweep(setting: str) -> None:
    """Add a setting to the sweep and to its runs, as if they had been trained with it."""
    path = FOLDER / "sweep.json"
    content = json.loads(path.read_text())
    content["settings"].append(setting)
    path.write_text(json.dumps(content))
    for overrides in FOLDER.glob("*/overrides.json"):
        overrides.write_text(json.dumps([*json.loads(overrides.read_text()), setting]))


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "contest.json").read_text())
    return found


@pytest.mark.usefixtures("drawn")
@pytest.mark.slow
def test_a_contest_of_two_methods(elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("lab", "searches", "sweep=mine", *FRESH)
    assert done.exit_code == 0, done.output
    (case,) = document()["cases"]
    names = [method["method"] for method in case["methods"]]
    assert sorted(names) == ["local", "random"]
    for method in case["methods"]:
        assert {run["seed"] for run in method["runs"]} == {1, 2}
        for one in method["runs"]:
            # Without noise a new score differs only by the rounding of the reference.
            assert one["score"] == pytest.approx(one["trained"], rel=0.01)
            assert one["score"] <= case["best_known"]
    best = max(run["score"] for method in case["methods"] for run in method["runs"])
    assert case["best_known"] == pytest.approx(best)
    assert case["evaluations"] == 60
    assert len(case["pairs"]) == 1
    assert case["smallest_p"] == pytest.approx(1 / 3)
    assert "nothing here can be significant" in (FOLDER / "contest.md").read_text()
    assert (FOLDER / "contest-tpcc.png").stat().st_size > 1000

    def refuse(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("it was measured already")

    with monkeypatch.context() as patch:
        patch.setattr(elsewhere.Session, "run", refuse)
        again = run("lab", "searches", "sweep=mine", *FRESH)
    assert again.exit_code == 0, again.output


def test_the_best_run_of_each_method_is_measured_on_real_cores() -> None:
    brief = ["threads.repeats=2", "threads.cores=2", "threads.tuning.rounds=1"]
    done = run("lab", "searches", "sweep=mine", "evaluation.backend=in_process", "rounds=1", *brief)
    assert done.exit_code == 0, done.output
    (comparison,) = document()["on_threads"].values()
    names = [row["policy"] for row in comparison["results"]]
    assert names == ["silo_tuned", "silo", "local", "random"]
    assert all(row["machine"]["kind"] == "threads" for row in comparison["results"])
    assert "2 real cores" in done.output


def test_an_interrupted_contest_keeps_its_measurements(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, left = elsewhere.Session.run, [3]

    def cut(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise elsewhere.Interrupted
        return measure(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr("trainer.contest.measuring.tune_silo", lambda *_: TunedBackoff(64.0))
        patch.setattr(elsewhere.Session, "run", cut)
        done = run("lab", "searches", "sweep=mine", *FRESH)
        assert done.exit_code == 130
        assert "interrupted; resume with: heddle lab searches sweep=mine " in done.stderr
    (samples,) = json.loads((FOLDER / "fresh.json").read_text())["samples"].values()
    assert sum(len(taken) for taken in samples.values()) == 2
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0


def test_a_pipe_instead_of_a_saved_file_does_not_block(elsewhere: ModuleType) -> None:
    (FOLDER / "fresh.json").unlink(missing_ok=True)
    os.mkfifo(FOLDER / "fresh.json")
    done = run("lab", "searches", "sweep=mine", *FRESH)
    assert done.exit_code != 0
    assert "fresh.json: can't be written: is a device or a pipe; name a file" in done.stderr


def test_results_that_cannot_be_written_are_still_shown(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise WritingError("contest.png: can't be written: No space left on device")

    whole = run("lab", "searches", "sweep=mine", *FRESH)
    monkeypatch.setattr("trainer.command.contest.plot_case", full)
    done = run("lab", "searches", "sweep=mine", *FRESH)
    assert done.exit_code != 0
    assert "error: contest.png: can't be written" in done.stderr
    assert done.stdout == whole.stdout.partition("written: ")[0]


@pytest.mark.usefixtures("measured")
@pytest.mark.slow
def test_scores_of_the_search_are_converted_to_the_unit_of_the_contest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each run has tuned its own constant for `silo_tuned`, which may be poor."""
    before = {
        one["run"]: one for method in document()["cases"][0]["methods"] for one in method["runs"]
    }
    (folder, *_) = FOLDER.glob("*random*")
    state = Checkpoint.load(folder)
    state.tuned_us = [4096.0]
    state.save(folder)
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0
    _, brief = json.loads((FOLDER / "fresh.json").read_text())["samples"].items()
    (conditions, samples) = brief
    # As in its search: for ten slices at a time, which is shorter than a champion's runs.
    assert json.loads(conditions)["seconds"] == 0.03
    assert len(samples["constant 4096"]) == 4  # 0.1 s in total, as for a table
    unit = samples["constant 4096"][0] / samples["reference"][0]
    assert unit < 0.9
    after = {
        one["run"]: one for method in document()["cases"][0]["methods"] for one in method["runs"]
    }
    for name, one in after.items():
        factor = unit if name == f"mine/{folder.name}" else 1.0
        assert one["trained"] == pytest.approx(before[name]["trained"] * factor, rel=0.01)
        assert one["score"] == before[name]["score"]


def test_a_failing_reference_of_a_run_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    (folder, *_) = FOLDER.glob("*random*")
    state = Checkpoint.load(folder)
    state.tuned_us = [4096.0]
    state.save(folder)

    def measure(scores: Any, run_round: Any, tables: Any, *_: Any) -> dict[str, float]:
        return {name: 0.0 if name.startswith("constant") else 1.0 for name in tables}

    monkeypatch.setattr("trainer.contest.fresh.FreshScores.measure", measure)
    done = run("lab", "searches", "sweep=mine", *FRESH)
    assert done.exit_code == 1
    assert "a constant backoff of 4096 µs, the reference of some runs, failed" in done.output


@pytest.mark.usefixtures("measured")
def test_a_shorter_contest_compares_over_the_same_rounds() -> None:
    """Additional samples of some tables, from a longer contest, would be of other inputs."""
    path = FOLDER / "fresh.json"
    content = json.loads(path.read_text())
    (samples,) = content["samples"].values()
    for name, taken in samples.items():
        if name != "reference":
            taken[1] *= 1000.0
    path.write_text(json.dumps(content))
    before = document()["cases"][0]["best_known"]
    assert run("lab", "searches", "sweep=mine", *FRESH, "rounds=1").exit_code == 0
    assert document()["cases"][0]["best_known"] == pytest.approx(before, rel=0.01)


@pytest.mark.usefixtures("measured")
def test_failed_measurements_are_repeated_by_the_next_contest() -> None:
    path, before = FOLDER / "fresh.json", document()
    content = json.loads(path.read_text())
    for samples in content["samples"].values():
        samples.update({name: [None, None] for name in samples})
    path.write_text(json.dumps(content))
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0
    assert document()["cases"] == before["cases"]


def test_swept_settings_of_the_search_are_methods_of_their_own() -> None:
    for number, path in enumerate(sorted(FOLDER.glob("*/overrides.json"))):
        proposals = {"search.proposals": f"{20 + number % 2}"}
        typed = [*json.loads(path.read_text()), *(f"{k}={v}" for k, v in proposals.items())]
        path.write_text(json.dumps(typed))
        set_saved(path.parent, proposals)
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0
    (case,) = document()["cases"]
    assert case["case"] == "tpcc"
    assert sorted(method["method"] for method in case["methods"]) == [
        f"{search} proposals={number}" for search in ("local", "random") for number in (20, 21)
    ]


@pytest.mark.usefixtures("measured")
def test_unequal_cost_is_reported() -> None:
    assert "not of equal cost" not in (FOLDER / "contest.md").read_text()
    (folder, *_) = FOLDER.glob("*random*")
    state = Checkpoint.load(folder)
    state.evaluations += 40
    state.save(folder)
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0
    assert "60 to 100 evaluations" in (FOLDER / "contest.md").read_text()


def test_the_cost_at_which_the_best_reaches_the_score_of_another() -> None:
    """The other's runs may have more evaluations, so a tenth of its budget is expected."""
    for folder in FOLDER.glob("*random*"):
        state = Checkpoint.load(folder)
        state.evaluations = 600
        state.save(folder)
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0
    (case,) = document()["cases"]
    best, other = case["methods"]
    assert (best["method"], other["method"]) == ("local", "random")
    (found,) = case["overtakings"]
    assert found["method"] == "random"
    assert found["score"] == pytest.approx(median(one["score"] for one in other["runs"]))
    assert found["spent"] == 600
    after = [
        next(spent for spent, score in one["fresh_curve"]["steps"] if score >= found["score"])
        for one in best["runs"]
    ]
    assert found["after"] == pytest.approx(median(after))
    assert found["runs"] == len(best["runs"])
    written = (FOLDER / "contest.md").read_text()
    assert "evaluations until local has the final score of each other method" in written
    assert f"| {found['after'] / 600:.1%} |" in written


def another(**settings: str) -> Path:
    """Make a second sweep, `other`: the first one with different typed settings."""
    other = FOLDER.parent / "other"
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(FOLDER, other)
    for path in other.glob("*/overrides.json"):
        texts = json.loads(path.read_text())
        kept = [text for text in texts if text.partition("=")[0] not in settings]
        path.write_text(json.dumps(kept + [f"{key}={value}" for key, value in settings.items()]))
        set_saved(path.parent, settings)
    return other


def set_saved(folder: Path, settings: Mapping[str, str]) -> None:
    """Change saved settings of a run, whether typed or not."""
    path = folder / "config.yaml"
    content = OmegaConf.create(yaml.safe_load(path.read_text()))
    for key, value in settings.items():
        OmegaConf.update(content, key, yaml.safe_load(value))
    path.write_text(OmegaConf.to_yaml(content))


BOTH = ("sweep=[mine,other]", "output=both")


def test_budgets_of_several_sweeps_are_methods_of_one_contest() -> None:
    another(**{"search.evaluations": "600", "evaluation.backend": "in_process"})
    done = run("lab", "searches", *BOTH, *FRESH)
    assert done.exit_code == 0, done.output
    content = json.loads(Path("both/contest.json").read_text())
    assert [one["name"] for one in content["sweeps"]] == ["mine", "other"]
    (case,) = content["cases"]
    assert {method["method"]: len(method["runs"]) for method in case["methods"]} == {
        f"{search} evaluations={number}": 2
        for search in ("local", "random")
        for number in (60, 600)
    }


@pytest.mark.slow
def test_sweeps_of_other_workloads_or_machines_are_cases() -> None:
    another(**{"machine.cores": "8"})
    assert run("lab", "searches", *BOTH, *FRESH).exit_code == 0
    content = json.loads(Path("both/contest.json").read_text())
    assert [case["case"] for case in content["cases"]] == ["cores=4", "cores=8"]
    assert all(len(case["methods"]) == 2 for case in content["cases"])


def test_settings_without_effect_are_not_in_names() -> None:
    """Settings of the record or of the comparison of champions do not distinguish runs."""
    other = another(**{"run.repeats": "3", "mlflow.enabled": "false", "seed": "7"})
    for folder in other.glob("*seed2"):
        shutil.rmtree(folder)
    done = run("lab", "searches", *BOTH, *FRESH)
    assert done.exit_code == 0, done.output
    (case,) = json.loads(Path("both/contest.json").read_text())["cases"]
    assert case["case"] == "tpcc"
    seeds = {m["method"]: sorted(one["seed"] for one in m["runs"]) for m in case["methods"]}
    assert seeds == {"local": [1, 2, 7], "random": [1, 2, 7]}
    assert {one["run"].split("/")[0] for m in case["methods"] for one in m["runs"]} == {
        "mine",
        "other",
    }


def test_runs_measured_differently_are_not_compared() -> None:
    another(**{"evaluation.rungs": "[1,2]"})
    done = run("lab", "searches", *BOTH, *FRESH)
    assert done.exit_code == 2
    words = " ".join(done.output.split())
    assert "runs/sweeps/mine/001-tpcc-local-seed1 and runs/sweeps/other/001-tpcc-local" in words
    assert "evaluation.rungs is" in words
    assert "omit one of their sweeps" in words


def test_defaults_at_the_time_of_a_run_count() -> None:
    """Defaults of another version differ, so the runs differ although nothing was typed."""
    for folder in another().glob("*-seed*"):
        set_saved(folder, {"seed": "9" if folder.name.endswith("1") else "8", "tuning.rounds": "7"})
    done = run("lab", "searches", *BOTH, *FRESH)
    assert done.exit_code == 2
    words = " ".join(done.output.split())
    assert "tuning.rounds is" in words
    assert "they are not comparable" in words


def test_invalid_saved_settings_are_reported() -> None:
    path = next(FOLDER.glob("*/config.yaml"))
    path.write_text(re.sub(r"(?m)^seed: \d+", "seed: one", path.read_text()))
    done = run("lab", "searches", "sweep=mine", *FRESH)
    assert done.exit_code == 2
    assert "config.yaml" in done.output
    assert "train again" in done.output


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("evaluation.backend=typo", "evaluation.backend=typo: no such backend; there are"),
        ("evaluation.rungs=[1]", "evaluation.rungs"),  # not compared in a contest
        ("seed=1000010", "seed=1000010: the run with seed=1 may have seen these inputs"),
        ("seed=3000015", "seed=3000015: the run with seed=1 may have seen these inputs"),
    ],
)
def test_a_setting_that_prevents_a_contest_is_named(typed: str, words: str) -> None:
    done = run("lab", "searches", "sweep=mine", *FRESH, typed)
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_on_real_cores_a_missing_measurement_repeats_all() -> None:
    """The machine on another day is as good as another machine."""
    for folder in FOLDER.glob("*-seed*"):
        set_saved(folder, {"machine.kind": "threads"})
    assert run("lab", "searches", "sweep=mine", *FRESH, "baselines=[silo]").exit_code == 0
    (before,) = document()["cases"]
    path = FOLDER / "fresh.json"
    content = json.loads(path.read_text())
    samples = {key: tables for key, tables in content["samples"].items() if len(tables) > 2}
    ((where, tables),) = samples.items()
    tables["reference"] = [value * 2 for value in tables["reference"]]  # another day
    path.write_text(json.dumps(content))
    assert run("lab", "searches", "sweep=mine", *FRESH, "baselines=[silo,occ]").exit_code == 0
    (case,) = document()["cases"]
    again = json.loads(path.read_text())["samples"][where]
    assert again["reference"] == [value / 2 for value in tables["reference"]]
    assert case["baselines"]["silo"] == before["baselines"]["silo"]


def test_each_budgets_own_champion_runs_on_real_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of two sweeps can have the same name."""
    other = another(**{"search.evaluations": "600"})
    for folder in other.glob("*local*"):
        state = Checkpoint.load(folder)
        state.incumbents = []
        state.save(folder)
    compared: list[list[str]] = []

    def compare(run_round: Any, subjects: Any, *_: Any) -> Comparison:
        compared.append([subject.name for subject in subjects])
        return Comparison([])

    monkeypatch.setattr("trainer.command.contest.compare_shown", compare)
    brief = ["threads.cores=2", "threads.tuning.rounds=1", "rounds=1"]
    assert run("lab", "searches", *BOTH, "evaluation.backend=in_process", *brief).exit_code == 0
    (names,) = compared
    assert "local evaluations=60" in names
    assert "local evaluations=600" not in names


def test_sweeps_that_cannot_be_compared_are_refused() -> None:
    another()
    for arguments, words in (
        (["sweep=[mine,other]"], "several sweeps need a folder for the results"),
        (["sweep=[mine,mine]"], "mine is named twice"),
        (["sweep=[mine,nosuch]"], "sweep=nosuch: no such sweep; there are mine, other"),
        (["sweep=[]"], "sweep=: names no sweep"),
        (["sweep=mine,other"], "sweep=mine,other: several sweeps need a folder"),
        (BOTH, "are both runs of local with seed 1 on tpcc"),
    ):
        done = run("lab", "searches", *arguments, *FRESH)
        assert done.exit_code == 2, done.output
        assert words in " ".join(done.output.split())


def test_methods_that_never_reach_the_score_of_another_are_reported() -> None:
    def of(method: str, evaluations: int, *scores: float) -> MethodStanding:
        return MethodStanding(
            method,
            tuple(
                RunStanding(
                    method=method,
                    seed=seed,
                    run=f"{method}-{seed}",
                    origin="seed",
                    score=score,
                    trained=score,
                    area=score,
                    reached_after=None,
                    at_equal_time=score,
                    seconds=1.0,
                    evaluations=evaluations,
                    refused=0,
                    trained_curve=Curve(((10.0, score),)),
                    fresh_curve=Curve(((10.0, score / 2), (90.0, score))),
                )
                for seed, score in enumerate(scores)
            ),
        )

    few, many = of("few", 80, 2.0, 2.0, 0.5), of("many", 1000, 1.5, 0.9, 1.5)
    # Its champions reach the score at their full cost; no earlier incumbent does.
    assert overtaking(few, many) == Overtaking("many", 1.5, 1000, 90.0, 80.0, 2, 0.08)
    assert overtaking(many, few) == Overtaking("few", 2.0, 80, 80.0, None, 0, None)
    # Its first generation has half of its final score, which suffices here.
    poor = of("poor", 1000, 1.0, 0.9, 1.1)
    assert overtaking(few, poor) == Overtaking("poor", 1.0, 1000, 90.0, 10.0, 2, 0.01)
    # Reaching a score of 0 counts for nothing.
    nothing = Overtaking("none", 0.0, 1000, first=None, after=None, runs=0, share=None)
    assert overtaking(few, of("none", 1000, 0.0)) == nothing


def found_nothing(method: str) -> int:
    """Make runs of a method end without a usable table; returns their number."""
    folders = list(FOLDER.glob(f"*{method}*"))
    for folder in folders:
        state = Checkpoint.load(folder)
        state.incumbents = []
        state.save(folder)
    return len(folders)


@pytest.mark.usefixtures("drawn")
def test_a_run_without_a_table_has_the_score_0() -> None:
    """Without failed runs, a method that often fails would be overrated."""
    assert found_nothing("random-seed1") == 1
    done = run("lab", "searches", "sweep=mine", *FRESH)
    assert done.exit_code == 0, done.output
    assert "unfinished" not in done.output
    told = "1 of 2 runs of random found no usable table, and count with the score 0"
    assert told in (FOLDER / "contest.md").read_text()
    assert told in " ".join(done.output.split())
    (case,) = document()["cases"]
    assert [method["method"] for method in case["methods"]] == ["local", "random"]
    vain, other = sorted(case["methods"][1]["runs"], key=lambda one: one["seed"])
    assert (vain["origin"], vain["score"], vain["area"]) == (None, 0.0, 0.0)
    assert vain["reached_after"] is None
    assert vain["evaluations"] == 60
    assert other["score"] > 0.0
    assert (FOLDER / "contest-tpcc.png").stat().st_size > 1000


def test_a_method_without_tables_is_last_and_not_run_on_real_cores() -> None:
    assert found_nothing("random") == 2
    brief = ["threads.repeats=2", "threads.cores=2", "threads.tuning.rounds=1"]
    done = run("lab", "searches", "sweep=mine", "evaluation.backend=in_process", "rounds=1", *brief)
    assert done.exit_code == 0, done.output
    (comparison,) = document()["on_threads"].values()
    assert [row["policy"] for row in comparison["results"]] == ["silo_tuned", "silo", "local"]
    (case,) = document()["cases"]
    assert [method["method"] for method in case["methods"]] == ["local", "random"]
    (pair,) = case["pairs"]
    assert (pair["first"], pair["effect"]) == ("local", 1.0)


def test_a_list_in_the_name_of_a_method_is_shown_as_typed() -> None:
    for number, path in enumerate(sorted(FOLDER.glob("*/overrides.json"))):
        lists = "[backoff]" if number % 2 else "[backoff,wait_fine]"
        path.write_text(json.dumps([*json.loads(path.read_text()), f"search.actions={lists}"]))
        set_saved(path.parent, {"search.actions": lists})
    done = run("lab", "searches", "sweep=mine", *FRESH)
    assert done.exit_code == 0, done.output
    for text in (done.output, (FOLDER / "contest.md").read_text()):
        assert "local actions=[backoff,wait_fine]" in text
        assert "local actions=[backoff]" in text


def test_long_names_do_not_shrink_the_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods of a factor analysis have such names, with all actions."""
    found: list[CaseStanding] = []
    monkeypatch.setattr("trainer.command.contest.plot_case", lambda case, *_: found.append(case))
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0
    first, *rest = found[0].methods
    long = replace(first, method="local actions=[" + "early_validation," * 6 + "backoff]")
    figure = case_figure(replace(found[0], methods=(long, *rest)), "4 virtual cores")
    figure.canvas.draw()
    assert all(axes.get_position().width > 0.35 for axes in figure.axes)
    (names,) = figure.legends
    assert not any(names.get_window_extent().overlaps(axes.bbox) for axes in figure.axes)


def test_the_picture_has_the_number_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[CaseStanding] = []
    monkeypatch.setattr("trainer.command.contest.plot_case", lambda case, *_: found.append(case))
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0

    def words(case: CaseStanding) -> tuple[str, list[str]]:
        figure = case_figure(case, "4 virtual cores")
        (legend,) = figure.legends
        return figure.get_suptitle(), [text.get_text() for text in legend.get_texts()]

    (whole,) = found
    names = [method.method for method in whole.methods]
    assert words(whole) == ("tpcc, 4 virtual cores: median and quartiles of 2 runs", names)
    first, *rest = whole.methods
    assert words(replace(whole, methods=(replace(first, runs=first.runs[:1]), *rest))) == (
        "tpcc, 4 virtual cores: median and quartiles of 1–2 runs",
        [f"{names[0]} (1 run)", f"{names[1]} (2 runs)"],
    )


def test_ctrl_c_on_real_cores_keeps_other_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer.command.contest.compare_shown", lambda *_: Comparison([], True))
    brief = ["threads.cores=2", "threads.tuning.rounds=1"]
    done = run("lab", "searches", "sweep=mine", "evaluation.backend=in_process", "rounds=1", *brief)
    assert done.exit_code == 130
    assert "resume with: heddle lab searches sweep=" in done.output
    assert document()["cases"]


def test_a_contest_without_runs_shows_what_to_do() -> None:
    for arguments, words in (
        (["lab", "searches"], "names no sweep"),
        (["lab", "searches", "sweep=nosuch"], "no such sweep"),
        (["lab", "searches", "sweep=mine", "share=2"], "share=2"),
        (["lab", "searches", "sweep=mine", "rounds=0"], "rounds=0"),
        (["lab", "searches", "sweep=mine", "seed=2"], "seed=2: is the seed of a run"),
        (["lab", "searches", "sweep=mine", "baselines=[occ,no]"], "policy=no: no such policy"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert words in done.output


def test_other_baselines_are_measured_in_addition(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("lab", "searches", "sweep=mine", *FRESH, "baselines=[occ]").exit_code == 0
    (before,) = document()["cases"]
    assert list(before["baselines"]) == ["silo_tuned", "occ"]
    assert before["baselines"]["silo_tuned"] == 1.0
    measured: list[int] = []
    measure = elsewhere.Session.run

    def counted(*arguments: Any, **named: Any) -> Any:
        measured.append(1)
        return measure(*arguments, **named)

    monkeypatch.setattr(elsewhere.Session, "run", counted)
    assert run("lab", "searches", "sweep=mine", *FRESH, "baselines=[ic3,occ]").exit_code == 0
    (after,) = document()["cases"]
    assert len(measured) == 2  # rounds of ic3
    assert after["methods"] == before["methods"]
    assert after["baselines"]["occ"] == before["baselines"]["occ"]
    assert "baselines: silo_tuned 1.000, ic3" in (FOLDER / "contest.md").read_text()


@pytest.mark.usefixtures("measured")
def test_another_build_of_the_engine_measures_everything_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise tables of one build would be divided by the reference of another."""
    monkeypatch.setattr("trainer.contest.measuring.engine_build", lambda: "another")
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0
    samples = json.loads((FOLDER / "fresh.json").read_text())["samples"]
    assert len(samples) == 2
    first, second = samples.values()
    assert first.keys() == second.keys()


def test_limits_of_the_runs_hold_on_fresh_inputs(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_to_sweep("objective.limits={throughput: 0.8x silo_tuned, new_order.p90: 1s}")
    done = run("lab", "searches", "sweep=mine", *FRESH, "baselines=[silo]")
    assert done.exit_code == 0, done.output
    (case,) = document()["cases"]
    limit, _ = case["objective"]["limits"]
    assert (limit["metric"], limit["type_name"]) == ("throughput", None)
    stored = json.loads((FOLDER / "fresh.json").read_text())
    (samples,) = (of for key, of in stored["samples"].items() if "new_order" in key)
    scores = {
        median(sample[0] for sample in taken) >= limit["value"]
        for name, taken in samples.items()
        if name != "reference"
    }
    assert scores == {True, False}
    curves = [of["fresh_curve"]["steps"] for method in case["methods"] for of in method["runs"]]
    measured = [score for steps in curves for _, score in steps]
    assert all(score <= 0.001 or score >= 0.8 for score in measured)
    assert "Limits: throughput ≥ " in (FOLDER / "contest.md").read_text()
    before = (FOLDER / "contest.json").read_text()
    monkeypatch.delattr(elsewhere.Session, "run")  # everything is stored
    assert run("lab", "searches", "sweep=mine", *FRESH, "baselines=[silo]").exit_code == 0
    assert json.loads(before)["cases"] == document()["cases"]


def test_the_scenario_of_the_training_is_measured() -> None:
    """With one named scenario, the setting of the workload itself was not trained for."""
    add_to_sweep("robust.scenarios=[{workload.warehouses:4}]")
    assert run("lab", "searches", "sweep=mine", *FRESH).exit_code == 0
    (conditions,) = json.loads((FOLDER / "fresh.json").read_text())["samples"]
    assert json.loads(conditions)["workload"]["warehouses"] == "4"


@pytest.mark.usefixtures("measured")
def test_a_failing_reference_is_reported() -> None:
    path = FOLDER / "fresh.json"
    content = json.loads(path.read_text())
    for samples in content["samples"].values():
        samples["reference"] = [1.0, 0.0]
    path.write_text(json.dumps(content))
    done = run("lab", "searches", "sweep=mine", *FRESH)
    assert done.exit_code == 1
    assert "the reference silo_tuned failed, or committed nothing" in done.output


def test_a_curve_is_sampled_at_its_incumbents_with_both_ends() -> None:
    """Omitted incumbents lower a curve only between its beginning and its end."""
    bests = [Incumbent(n, 16 * n, n, float(n), 1.0 + n / 100, [n], "") for n in range(1, 101)]
    one = Entrant.__new__(Entrant)
    object.__setattr__(one, "incumbents", tuple(bests))
    object.__setattr__(one, "evaluations", 800)
    found = [best.evaluations // 16 for best in one.in_force(4, 800, 70.0)]
    assert found == [1, 12, 25, 37, 50, 70, 100]
    assert one.in_force(100, 800, 70.0) == bests
    # Beyond the common budget, as many incumbents are sampled.
    object.__setattr__(one, "evaluations", 1600)
    found = [best.evaluations // 16 for best in one.in_force(4, 160, 7.0)]
    assert found == [1, 2, 5, 7, 10, 25, 50, 75, 100]


def test_equal_cells_with_different_classifiers_are_different_tables(tpcc: Signature) -> None:
    """Equal vectors have another meaning under other `search.classifiers`."""

    def named(neighbours: int) -> str:
        content = {"neighbours": neighbours, "hot_keys": {}, "types": []}
        classifiers = (NamedClassifier.of("hot", content),)
        encoding = Encoding(tpcc, scheduled=True, classifiers=classifiers)
        one = Entrant.__new__(Entrant)
        object.__setattr__(one, "encoding", encoding)
        object.__setattr__(one, "method", "guided")
        return one.name_of([choices - 1 for choices in encoding.nvec])

    assert named(1) == named(1)
    assert named(1) != named(3)


def test_an_unsupported_group_is_reported() -> None:
    done = run("lab", "searches", "sweep=mine", "machine=virtual")
    assert done.exit_code == 2
    assert "machine=virtual: this command has no machine; --settings lists" in done.output


def test_the_reference_warms_up_as_the_search_did() -> None:
    """Under limits on latency that is longer than the settings say."""
    config = TrainConfig()
    assert Reference.of(untuned(), config).warmup == config.evaluation.warmup_seconds
    assert Reference.of(untuned(), config, 0.087).warmup == 0.087
    config.evaluation.later_warmup_seconds = 0.1
    assert Reference.of(untuned(), config, 0.087).warmup == 0.1
