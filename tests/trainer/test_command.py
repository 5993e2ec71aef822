from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from omegaconf import OmegaConf

from envs import machine_words
from envs.host import local_machine
from policies import ACTION_GROUPS, Signature, build_seed, save
from policies.schedule import PARAMETERS
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle

QUICK = [
    "evaluation.backend=in_process",
    "mlflow.enabled=false",
    "report.enabled=false",
    "forecast=false",
    "tuning.rounds=1",
    "tuning.final_rounds=1",
    "champion.rounds=2",
    "run.repeats=2",
    "run.seconds=0.1",
    "verdict.repeats_max=null",
]

EVOLUTION = ["search=evolution", "search.children=2"]

VIRTUAL = [
    *QUICK,
    "machine=virtual",
    "machine.cores=4",
    "search.generations=1",
    "validation.cores=3",
    "validation.seconds=0.1",
    "validation.repeats=2",
    "validation.tuning.rounds=1",
    "validation.tuning.final_rounds=1",
]


@pytest.fixture(autouse=True)
def elsewhere(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    return fake_engine


def run(*arguments: str) -> Result:
    return CliRunner().invoke(heddle, arguments, catch_exceptions=False)


def interrupt_after(engine: ModuleType, monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    """Interrupt runs midway from the given one on."""
    left, measure = [runs], engine.Session.run

    def cut(*arguments: Any, **named: Any) -> Any:
        if left[0] == 0:
            error = engine.Interrupted()
            error.result = measure(*arguments, **named)
            raise error
        left[0] -= 1
        return measure(*arguments, **named)

    monkeypatch.setattr(engine.Session, "run", cut)


def only_run() -> Path:
    (folder,) = Path("runs").glob("*seed*")
    return folder


def test_evaluate_writes_a_table_and_json() -> None:
    done = run("evaluate", "policy=silo,silo_tuned,occ", "run.repeats=3", "output=out.json")
    assert done.exit_code == 0
    assert "silo_tuned (4 µs)" in done.output
    document = json.loads(Path("out.json").read_text())
    assert [row["policy"] for row in document["results"]] == ["silo", "silo_tuned", "occ"]
    assert all(len(row["repeats"]) == 3 for row in document["results"])
    assert document["workload"] == {"name": "tpcc", "warehouses": "1", "mix": "read_write"}


def test_evaluate_runs_admission_policies_side_by_side() -> None:
    done = run(
        "evaluate",
        "policy=silo,silo+smf,silo_tuned+tsdefer",
        "schedule.window=4",
        "run.repeats=1",
        "output=out.json",
    )
    assert done.exit_code == 0, done.output
    rows = json.loads(Path("out.json").read_text())["results"]
    assert [row["policy"] for row in rows] == ["silo", "silo+smf", "silo_tuned+tsdefer"]
    schedules = [row["repeats"][0].get("schedule", {}).get("options") for row in rows]
    assert schedules[0] is None
    assert [(s["policy"], s["window"]) for s in schedules[1:]] == [("smf", "4"), ("tsdefer", "4")]


def test_evaluate_applies_a_schedule_to_all_policies() -> None:
    done = run("evaluate", "policy=silo+fifo,silo,ic3", "schedule=smf", "run.repeats=1")
    assert done.exit_code == 0, done.output
    assert "silo+fifo" in done.output
    assert "silo+smf" in done.output
    assert "ic3+smf" in done.output


def test_an_interrupted_evaluate_shows_its_results(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(elsewhere, monkeypatch, 4)
    done = run("evaluate", "policy=silo,occ,ic3", "run.repeats=5", "output=out.json")
    assert done.exit_code == 130
    assert "interrupted" in done.output
    document = json.loads(Path("out.json").read_text())
    assert document["interrupted"]
    assert sum(len(row["repeats"]) for row in document["results"]) == 4


def test_an_evaluate_interrupted_at_the_start(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(elsewhere, monkeypatch, 0)
    done = run("evaluate", "policy=silo_tuned,occ", "output=out.json")
    assert done.exit_code == 130
    assert not Path("out.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "policy=silo,sillo"], "did you mean silo?"),
        (["evaluate", "policy=silo,no/such.json"], "no/such.json"),
        (["evaluate", "policy=silo", "schedule.policy=lifo"], "option 'policy' is 'lifo'"),
        (["evaluate", "policy="], "names no policy"),
        (["evaluate", "output=no/such/out.json"], "no directory no/such"),
        (["evaluate", "worload=tpcc"], "did you mean workload?"),
        (["evaluate", "workload=ycsb"], "no workload 'ycsb'"),
        (["train", "search.generatons=3"], "did you mean search.generations?"),
        (["train", "resume=gone"], "resume=gone: no such run; there are none"),
        (["train", "evaluation.backend=dask"], "there are ray, in_process"),
        (
            ["train", *QUICK, "search=evolution", "search.parents=0"],
            "search.parents=0: must be at least 1",
        ),
        (["train", *QUICK, "search.generations=null"], "would never end"),
        (["train", *QUICK, "evaluation.settled=0.1"], "evaluation.settled=0.1: lengthens rungs on"),
        (["train", "-m", "seed=1,2", "sed=3"], "did you mean seed?"),
        (["train", *VIRTUAL, "machine.cores=300"], "machine.cores=300: must be at most 256"),
        (["evaluate", "machine=virtual", "machine.cores=300"], "must be at most 256"),
        (["evaluate", "machine=abacus"], "there are threads, virtual"),
    ],
)
def test_mistakes_are_one_message_and_exit_2(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert "Traceback" not in done.output


def test_train_writes_a_policy_a_table_and_a_picture() -> None:
    done = run("train", *QUICK, "search.generations=2", "seed=5")
    assert done.exit_code == 0, done.output
    folder = only_run()
    for name in ("policy.json", "comparison.json", "comparison.txt", "fitness.png", "config.yaml"):
        assert (folder / name).stat().st_size > 0
    assert str(folder / "policy.json") in done.output
    assert "verdict on 2 real cores: " in done.output
    evaluated = run("evaluate", f"policy=silo,{folder}/policy.json", "run.repeats=1")
    assert evaluated.exit_code == 0
    assert folder.name in evaluated.output


@pytest.mark.slow
def test_a_run_resumes_only_with_its_own_search() -> None:
    """The typed settings of its search do not apply to another search."""
    run("train", *QUICK, *EVOLUTION, "search.generations=1", "seed=5")
    folder = only_run()
    before = (folder / "checkpoint.json").read_bytes()
    for typed in ("search=random", "search=guided"):
        done = run("train", f"resume={folder.name}", typed)
        assert done.exit_code == 2, done.output
        assert f"{typed}: {folder} is a run of the search evolution; leave out" in done.output
    assert (folder / "checkpoint.json").read_bytes() == before
    done = run("train", f"resume={folder.name}", "search=evolution_quick", "search.generations=2")
    assert done.exit_code == 0, done.output


def forget(folder: Path, *texts: str) -> None:
    """Remove typed settings of a run, as if they had come from defaults or an experiment."""
    file = folder / "overrides.json"
    typed = [one for one in json.loads(file.read_text()) if not one.startswith(texts)]
    file.write_text(json.dumps(typed))


@pytest.mark.slow
def test_a_run_resumes_with_a_former_default_search() -> None:
    """The settings of that search are kept, even if its defaults have changed."""
    numbers = ["search.generations=1", "search.children=2", "search.decay=0.9"]
    run("train", *QUICK, "search=evolution", *numbers, "search.focus=0.5")
    folder = only_run()
    forget(folder, "search=", "search.decay=", "search.focus=", "search.actions=")
    done = run("train", f"resume={folder.name}", "search=guided")
    assert f"search=guided: {folder} is a run of the search evolution" in done.output
    done = run("train", f"resume={folder.name}", "search.generations=2", "search.focus=0.4")
    assert done.exit_code == 0, done.output
    search = OmegaConf.load(folder / "config.yaml").search
    assert (search.name, search.decay, search.focus) == ("evolution", 0.9, 0.4)
    assert len(Checkpoint.load(folder).history) == 2


@pytest.mark.slow
def test_a_run_resumes_with_the_former_search_of_its_experiment() -> None:
    run("train", *QUICK, "experiment=quick_threads", "search=evolution_quick", "search.seconds=1")
    folder = only_run()
    forget(folder, "search=")
    done = run("train", f"resume={folder.name}")
    assert done.exit_code == 0, done.output
    search = OmegaConf.load(folder / "config.yaml").search
    assert (search.name, search.decay, search.generations) == ("evolution", 0.95, None)


@pytest.mark.slow
def test_train_resumes_with_saved_and_new_settings() -> None:
    run("train", *QUICK, *EVOLUTION, "search.generations=1", "seed=5")
    folder = only_run()
    done = run("train", f"resume={folder.name}", "search.generations=3")
    assert done.exit_code == 0, done.output
    history = Checkpoint.load(folder).history
    assert [record.evaluations for record in history][1:] == [
        history[0].evaluations + 24,
        history[0].evaluations + 48,
    ]
    assert "seed: 5" in (folder / "config.yaml").read_text()


def test_a_run_with_a_changed_base_is_not_resumed(tpcc: Signature) -> None:
    save(build_seed("ic3", tpcc), "base.json")
    chosen = (*VIRTUAL, "search.base=base.json", "search.actions=[backoff]")
    done = run("train", *chosen, "validation.enabled=false")
    assert done.exit_code == 0, done.output
    folder = only_run()
    save(build_seed("two_phase_locking_star", tpcc), "base.json")
    done = run("train", f"resume={folder.name}")
    assert done.exit_code == 2
    assert "search.base is base.json (" in done.output
    assert ", but was base.json (" in done.output


def test_a_run_whose_cells_changed_meaning_is_not_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its vectors would mean different schedules."""
    chosen = (*VIRTUAL, "search.actions=[backoff,schedule]", "validation.enabled=false")
    assert run("train", *chosen).exit_code == 0
    folder = only_run()
    another = replace(PARAMETERS[0], choices=(1, 2, 4, 8, 16))
    monkeypatch.setattr("trainer.run_settings.PARAMETERS", (another, *PARAMETERS[1:]))
    done = run("train", f"resume={folder.name}", "search.generations=3")
    assert done.exit_code == 2, done.output
    assert "the schedule's cells is policy" in done.output
    assert "or start a new run" in done.output


@pytest.mark.slow
def test_a_schedule_is_searched_only_for_workloads_with_hints() -> None:
    done = run("train", *VIRTUAL, "experiment=schedule", "workload.name=transfer")
    assert done.exit_code == 1
    assert "can't search for a schedule" in done.output
    assert "leave schedule out of search.actions" in done.output


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("machine.cores=3", "machine.cores is 3, but was 4"),
        ("machine.costs.memory_ns=300", "machine.costs.memory_ns is 300.0, but was"),
        ("evaluation.slice_seconds=0.5", "evaluation.slice_seconds is 0.5, but was 0.003"),
        ("workload.warehouses=2", "workload.warehouses is 2, but was 1"),
        ("machine=threads", "machine.kind is threads, but was virtual"),
        (
            "search.actions=[backoff]",
            "search.actions is backoff, but was backoff, dirty",
        ),
    ],
)
def test_a_run_of_another_machine_or_workload_is_not_resumed(typed: str, message: str) -> None:
    assert run("train", *VIRTUAL, "machine.cores=4", "validation.enabled=false").exit_code == 0
    folder = only_run()
    files = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = run("train", f"resume={folder}", typed)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert str(folder) in done.output
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == files
    assert run("train", f"resume={folder}", "run.repeats=2").exit_code == 0


@pytest.mark.slow
def test_an_interrupted_train_shows_how_to_resume(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(elsewhere, patch, 200)
        done = run("train", *QUICK, "search.generations=5")
    assert done.exit_code == 130
    folder = only_run()
    assert f"heddle train resume={folder}" in done.output
    survived = len(Checkpoint.load(folder).history)
    assert 1 <= survived < 5
    assert run("train", f"resume={folder}").exit_code == 0
    assert len(Checkpoint.load(folder).history) == 5


def test_a_running_run_is_not_resumed() -> None:
    import fcntl

    run("train", *QUICK, "search.generations=1")
    folder = only_run()
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run("train", f"resume={folder}")
    assert done.exit_code == 2
    assert "another process" in done.output


@pytest.mark.slow
def test_multirun_makes_a_run_for_each_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["heddle"])
    settings = [
        *QUICK,
        "search.generations=1",
        "seed=1,2",
        "search=evolution",
        "search.children=1,2",
    ]
    done = run("train", "-m", *settings)
    assert done.exit_code == 0, done.output
    files = sorted(Path("runs").rglob("overrides.json"))
    assert len(files) == 4
    overrides = [json.loads(file.read_text()) for file in files]
    assert {
        tuple(sorted(o for o in typed if "children" in o or "seed" in o)) for typed in overrides
    } == {(f"search.children={c}", f"seed={s}") for c in (1, 2) for s in (1, 2)}
    assert sorted(path.name for path in Path().iterdir()) == ["runs"]


def test_settings_are_shown() -> None:
    done = run("train", "--settings", "experiment=quick")
    assert done.exit_code == 0
    assert "seconds: 200.0" in done.output
    assert run("--version").output.startswith("heddle ")


def test_a_violated_consistency_is_a_failure(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere.Session, "check", lambda self: ["W_YTD is not the sum of D_YTD"])
    done = run("evaluate", "policy=silo", "run.repeats=1")
    assert done.exit_code == 1
    assert "W_YTD" in done.output


def test_train_on_virtual_cores_leaves_a_comparison_of_each_machine() -> None:
    done = run("train", *VIRTUAL)
    assert done.exit_code == 0, done.output
    folder, shown = only_run(), []
    for name, machine, words in (
        ("comparison", local_machine("virtual", 4), "4 virtual cores"),
        ("validation", local_machine("threads", 3), machine_words(local_machine("threads", 3))),
    ):
        results = json.loads((folder / f"{name}.json").read_text())["results"]
        assert results[-1]["policy"] == "learned"
        assert all(row["machine"] == machine.as_dict() for row in results)
        title = (folder / f"{name}.txt").read_text().strip().splitlines()[0].strip()
        assert title.endswith(words)
        shown += [done.output.index(title), done.output.index(f"verdict on {words}: ")]
    # Each table is followed by its verdict.
    assert shown == sorted(shown)
    assert done.output.count("verdict on ") == 2


@pytest.mark.parametrize(
    "settings", [[*QUICK, "search.generations=1"], [*VIRTUAL, "validation.enabled=false"]]
)
@pytest.mark.slow
def test_train_without_a_validation_writes_no_validation_files(settings: list[str]) -> None:
    done = run("train", *settings)
    assert done.exit_code == 0, done.output
    assert not list(only_run().glob("validation*"))
    assert (only_run() / "comparison.json").exists()
    assert done.output.count("verdict on ") == 1


@pytest.mark.slow
def test_a_train_interrupted_in_the_validation_keeps_the_comparison(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = elsewhere.Session.run

    def cut(session: Any, *arguments: Any, **named: Any) -> Any:
        if session.machine["kind"] == "threads":
            raise elsewhere.Interrupted
        return measure(session, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elsewhere.Session, "run", cut)
        done = run("train", *VIRTUAL)
    assert done.exit_code == 130
    folder = only_run()
    assert "verdict on 4 virtual cores: " in done.output
    assert f"compare again with: heddle train resume={folder}" in done.output
    assert not json.loads((folder / "comparison.json").read_text())["interrupted"]
    assert json.loads((folder / "validation.json").read_text())["interrupted"]
    again = run("train", f"resume={folder}")
    assert again.exit_code == 0, again.output
    assert not json.loads((folder / "validation.json").read_text())["interrupted"]


def test_evaluate_reports_virtual_cores() -> None:
    done = run("evaluate", "machine=virtual", "policy=silo,occ", "output=out.json")
    assert done.exit_code == 0, done.output
    assert "48 virtual cores" in done.output
    rows = json.loads(Path("out.json").read_text())["results"]
    assert [row["machine"] for row in rows] == [{"kind": "virtual", "cores": 48}] * 2
    assert [row["repeats"][0]["duration_s"] for row in rows] == [0.05] * 2


def test_a_consistency_violated_on_virtual_cores_names_the_policy(elsewhere: ModuleType) -> None:
    elsewhere.VIOLATIONS.append("W_YTD is not the sum of D_YTD")
    for arguments in (["evaluate", "machine=virtual", "policy=silo,occ"], ["train", *VIRTUAL]):
        done = run(*arguments)
        assert done.exit_code == 1
        for name in ("silo", "occ"):
            assert f"consistency violated: {name}: W_YTD is not" in done.output


def test_ctrl_c_in_the_check_keeps_earlier_repeats(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs of the last repeat are checked, which takes a while."""
    measure = elsewhere.Session.run

    def cut(*arguments: Any, check: bool, **named: Any) -> Any:
        if check:
            raise elsewhere.Interrupted
        return measure(*arguments, check=check, **named)

    monkeypatch.setattr(elsewhere.Session, "run", cut)
    done = run("evaluate", "machine=virtual", "policy=silo,occ", "output=out.json")
    assert done.exit_code == 130
    rows = json.loads(Path("out.json").read_text())["results"]
    assert [len(row["repeats"]) for row in rows] == [4, 4]


@pytest.mark.parametrize("name", ["file", "file/below", "link", "loop"])
def test_an_unusable_runs_dir_is_reported_at_once(name: str) -> None:
    Path("file").touch()
    Path("link").symlink_to("nowhere/at/all")
    Path("loop").symlink_to("loop")
    done = run("train", *QUICK, f"runs_dir={name}")
    assert done.exit_code == 2
    words = ("there is a file in the place of a folder", "no folder can be created there: ")
    assert any(f"runs_dir={name}: {one}" in done.output for one in words)
    assert "File exists" not in done.output


@pytest.mark.slow
def test_the_factor_analysis_adds_kinds_of_actions_one_by_one() -> None:
    brief = ["search.generations=1", "search.parents=2", "search.children=1", "baselines=[silo]"]
    done = run("train", "-m", "experiment=factor_analysis", *QUICK, *brief)
    assert done.exit_code == 0, done.output
    spaces = [
        set(OmegaConf.load(folder / "config.yaml").search.actions)
        for folder in Path("runs").glob("sweeps/*/*seed*")
    ]
    steps = sorted(spaces, key=len)
    assert len(steps) == 4
    assert all(smaller < larger for smaller, larger in itertools.pairwise(steps))
    assert steps[0] == {"early_validation"}
    assert steps[2] - steps[1] == {"wait_coarse", "backoff"}  # §7.2 counts the backoff to it
    assert steps[-1] == set(ACTION_GROUPS)
