"""`heddle evaluate`, on the stand-in for the engine."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from matplotlib.axes import Axes

from envs import of_policy
from envs.transfer import Place, Transfer
from trainer.command.combinations import combinations, with_swept
from trainer.command.errors import UsageError
from trainer.command.main import heddle
from trainer.command.settings import compose_settings
from trainer.config import EvaluateConfig

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("machine=virtual", "workload.warehouses=1,4", "machine.cores=2,3")


@pytest.fixture
def elsewhere(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    return fake_engine


def run(*words: str) -> Result:
    return CliRunner().invoke(heddle, ["evaluate", *words])


def write_policy(path: Path, warehouses: int, cores: int) -> None:
    """Write IC3's table as if it had been trained in a place."""
    shown = CliRunner().invoke(heddle, ["policy", "show", "ic3", "--json"])
    document = json.loads(shown.output)
    document["provenance"] = {
        "workload": {"name": "tpcc", "warehouses": str(warehouses), "mix": "read_write"},
        "machine": {"kind": "virtual", "cores": cores},
    }
    path.write_text(json.dumps(document))


def test_every_policy_is_compared_in_every_place(elsewhere: ModuleType, tmp_path: Path) -> None:
    write_policy(tmp_path / "four.json", warehouses=4, cores=3)
    done = run("policy=silo,four.json", *PLACES, "output=found")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "found" / "transfer.json").read_text())
    assert [column["label"] for column in found["columns"]] == [
        "warehouses 1, cores 2",
        "warehouses 1, cores 3",
        "warehouses 4, cores 2",
        "warehouses 4, cores 3",
    ]
    for column in found["columns"]:
        rows = {row["policy"]: row["throughput"] for row in column["comparison"]["results"]}
        best = max(rows, key=lambda name: rows[name])
        assert column["best"] == best == "silo_tuned"
        for name, throughput in rows.items():
            assert column["to_reference"][name] == pytest.approx(throughput / rows["silo_tuned"])
            assert column["to_best"][name] == pytest.approx(throughput / rows[best])
        assert column["comparison"]["results"][0]["machine"]["cores"] == column["cores"]
    assert [column["trained_here"] for column in found["columns"]] == [[], [], [], ["four.json"]]
    assert found["policies"] == ["silo", "four.json"]
    assert (tmp_path / "found" / "transfer.png").stat().st_size > 10_000


def test_the_table_shortens_file_names_and_marks_training_places(
    elsewhere: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "deep").mkdir()
    write_policy(tmp_path / "deep" / "four.json", warehouses=4, cores=2)
    done = run(f"policy={tmp_path}/deep/four.json", *PLACES[:2], "machine.cores=2")
    assert done.exit_code == 0, done.output
    (line,) = [line for line in done.output.splitlines() if line.startswith("  four ")]
    assert line.count("*") == 1


def test_ctrl_c_keeps_finished_places(
    elsewhere: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = elsewhere.Session.run

    def run_until_the_second_place(self: object, *arguments: object, **named: object) -> object:
        if getattr(self, "workers", 0) == 3:
            raise elsewhere.Interrupted
        return begun(self, *arguments, **named)

    monkeypatch.setattr(elsewhere.Session, "run", run_until_the_second_place)
    done = run("policy=silo", "machine=virtual", "machine.cores=2,3,4", "output=found")
    assert done.exit_code == 130
    found = json.loads((tmp_path / "found" / "transfer.json").read_text())
    assert found["interrupted"]
    assert [column["cores"] for column in found["columns"]] == [2]
    assert "not all runs were made" in " ".join(done.output.split())


def test_a_failing_place_does_not_affect_others(
    elsewhere: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = elsewhere.Session.run

    def run_but_on_three(self: object, *arguments: object, **named: object) -> object:
        if getattr(self, "workers", 0) == 3:
            raise elsewhere.EngineError("worker 0 is stuck")
        return begun(self, *arguments, **named)

    monkeypatch.setattr(elsewhere.Session, "run", run_but_on_three)
    done = run(
        "policy=silo", "reference=silo", "machine=virtual", "machine.cores=2,3,4", "output=found"
    )
    assert done.exit_code == 1
    assert "not measured: cores 3: silo: worker 0 is stuck" in done.output
    found = json.loads((tmp_path / "found" / "transfer.json").read_text())
    assert [bool(column["comparison"]["results"]) for column in found["columns"]] == [
        True,
        False,
        True,
    ]


def test_violations_are_reported_with_their_place(elsewhere: ModuleType) -> None:
    elsewhere.VIOLATIONS.append("money is missing")
    done = run("policy=silo", "reference=silo", "machine=virtual", "machine.cores=2,3")
    assert done.exit_code == 1
    assert "consistency violated: cores 3: silo: money is missing" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("policy=",), "policy= names no policy"),
        (("policy=sill",), "did you mean silo?"),
        (("reference=sill",), "reference=sill: no such policy"),
        (
            ("reference='external:locks=off:locks=off:dsn=secret'",),
            "reference=external:locks=off:locks=off:dsn=...: external: the option locks occurs",
        ),
        (("seed=1,2",), "only settings of workload, machine, schedule and case may have several"),
        (("workload.warehouses=range(1,9000000)",), "over 1000 combinations"),
        (("workload.warehouses=1,x",), "workload.warehouses=x: must be a whole number"),
        (("machine.cores=glob(*)",), "write the values with commas, such as machine.cores=1,4"),
        (("output=nowhere/\0",), "output=nowhere"),
    ],
)
def test_mistakes_are_reported_before_measuring(
    elsewhere: ModuleType, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    write_policy(tmp_path / "four.json", warehouses=4, cores=2)
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert "sweep" not in done.output


def test_a_policy_that_does_not_fit_a_place_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_policy(tmp_path / "four.json", warehouses=4, cores=2)
    done = run("policy=four.json", "workload=tpcc,ycsb", "machine=virtual")
    assert done.exit_code == 2
    assert "error: ycsb: four.json: " in done.output
    assert "is for workload 'tpcc', not 'ycsb'" in done.output


def test_combinations_are_named_by_their_differences() -> None:
    found = combinations(["workload=tpcc,ycsb", "machine/costs=paper,paper", "seed=2"])
    assert [one.label for one in found] == ["tpcc, costs paper", "ycsb, costs paper"]
    assert found[1].overrides == ["workload=ycsb", "machine/costs=paper", "seed=2"]
    (alone,) = combinations(["seed=2"])
    assert alone.label == ""
    with pytest.raises(UsageError, match="takes one value"):
        combinations(["search.seconds=1,2"])


def test_cases_are_places(elsewhere: ModuleType) -> None:
    where = ("policy=silo", "reference=silo", "machine=virtual", "machine.cores=2")
    done = run(*where, "case=tpcc_1,tpcc_4")
    assert done.exit_code == 0, done.output
    assert "tpcc (mix read_write), 2 virtual cores" in " ".join(done.output.split())
    assert "tpcc_1" in done.output
    assert "tpcc_4" in done.output
    done = run(*where, "case=tpcc_4")
    title = "tpcc (warehouses 4, mix read_write), 2 virtual cores"
    assert title in " ".join(done.output.split())


def test_a_schedule_is_a_column_and_changes_no_rows_name(
    elsewhere: ModuleType, tmp_path: Path
) -> None:
    where = ("policy=silo,occ", "reference=silo", "machine=virtual", "machine.cores=2")
    done = run(*where, "schedule=fifo,smf", "output=found")
    assert done.exit_code == 0, done.output
    assert "–" not in done.output
    fifo, smf = json.loads((tmp_path / "found" / "transfer.json").read_text())["columns"]
    for column, policy in ((fifo, "fifo"), (smf, "smf")):
        assert column["schedule"]["policy"] == policy
        assert set(column["to_reference"]) == {"silo", "occ"}
        assert all(ratio > 0 for ratio in column["to_reference"].values())
    for row in smf["comparison"]["results"]:
        assert row["repeats"][0]["schedule"]["options"]["policy"] == "smf"


def test_silo_tuned_is_tuned_under_a_schedule_as_well(
    elsewhere: ModuleType, tmp_path: Path
) -> None:
    where = ("reference=silo", "machine=virtual", "machine.cores=2,3", "output=found")
    done = run("policy=silo,silo_tuned+smf", *where)
    assert done.exit_code == 0, done.output
    column, _ = json.loads((tmp_path / "found" / "transfer.json").read_text())["columns"]
    rows = {row["policy"]: row for row in column["comparison"]["results"]}
    assert "a constant backoff of" in done.output
    told = f"of {rows['silo_tuned+smf']['backoff_us']:g} µs suits"
    assert told in done.output


def test_a_file_is_read_once_for_all_columns(
    elsewhere: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(tmp_path / "four.json", warehouses=4, cores=2)
    begun = elsewhere.Session.run

    def run_without_the_file(self: object, *arguments: object, **named: object) -> object:
        (tmp_path / "four.json").unlink(missing_ok=True)
        return begun(self, *arguments, **named)

    monkeypatch.setattr(elsewhere.Session, "run", run_without_the_file)
    done = run("policy=four.json", "reference=silo", "machine=virtual", "machine.cores=2,3")
    assert done.exit_code == 0, done.output
    assert "–" not in done.output


def test_titles_distinguish_virtual_and_real_cores(elsewhere: ModuleType) -> None:
    done = run("policy=silo", "reference=silo", "machine=threads,virtual", "machine.cores=1")
    assert done.exit_code == 0, done.output
    assert "1 real and virtual cores" in " ".join(done.output.split())


def test_an_experiment_has_its_own_places() -> None:
    typed = ["experiment=smf_warehouses", "machine.cores=4"]
    found = combinations(with_swept("evaluate", typed))
    assert [one.label for one in found] == [f"warehouses {n}" for n in (1, 5, 10, 20, 40)]
    config = compose_settings("evaluate", found[1].overrides, EvaluateConfig)
    assert (config.workload["warehouses"], config.machine.cores) == (5, 4)
    assert "two_phase_locking+smf" in config.policy
    # Typed settings take precedence.
    few = combinations(with_swept("evaluate", [*typed, "workload.warehouses=2,3"]))
    assert [one.label for one in few] == ["warehouses 2", "warehouses 3"]
    assert with_swept("evaluate", ["seed=2"]) == ["seed=2"]
    with pytest.raises(UsageError, match="there is no such experiment; there are"):
        with_swept("evaluate", ["experiment=none"])


@pytest.mark.parametrize(
    "name",
    sorted(
        path.stem
        for kind in ("locks", "polyjuice", "smf")
        for path in (ROOT / "configs" / "experiment").glob(f"{kind}_*.yaml")
    ),
)
def test_experiments_of_the_papers_are_complete(name: str) -> None:
    for one in combinations(with_swept("evaluate", [f"experiment={name}"])):
        config = compose_settings("evaluate", one.overrides, EvaluateConfig)
        assert config.machine.kind == "virtual"
        assert config.reference in config.policy
        assert config.workload["name"]


def test_files_are_labelled_by_their_differences() -> None:
    names = ["silo", "runs/a/policy.json", "runs/b/policy.json", "x/t.json", "y/t.json", "u.json"]
    labels = Transfer(names, "silo", [], interrupted=False).labels
    assert labels == ["silo", "a", "b", "x/t", "y/t", "u"]


def test_a_protocol_has_no_training_place() -> None:
    place = Place("here", {"name": "tpcc"}, {"kind": "virtual"}, 2)
    assert not place.is_training_place(of_policy("bare", '{"provenance": {}}'))


def shorten(
    engine: ModuleType, monkeypatch: pytest.MonkeyPatch, protocols: set[str], seconds: float
) -> None:
    """Make runs of these protocols last this many seconds; in 0 seconds they commit nothing."""
    result_of = engine.Session._result

    def short(self: Any, protocol: str, *arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = result_of(self, protocol, *arguments)
        if protocol in protocols:
            result["duration_s"] = seconds
            if not seconds:
                result |= {"commits": 0, "throughput": 0.0, "mixed_throughput": 0.0}
                for one in result["types"].values():
                    one |= {"commits": 0, "unfinished": 0, "throughput": 0.0}
        return result

    monkeypatch.setattr(engine.Session, "_result", short)


TWO_POLICIES = ("policy=silo,two_phase_locking", "reference=silo", "run.repeats=2")


def test_windows_of_other_lengths_are_named(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(elsewhere, monkeypatch, {"two_phase_locking"}, 0.25)
    where = ("machine=virtual", "machine.cores=2,3,4,5,6", "run.seconds=0.5")
    words = " ".join(run(*TWO_POLICIES, *where).output.split())
    assert "K/s: median of 2 interleaved runs of 0.5 s each" in words
    assert "cores 2: run 1 of two_phase_locking measured 0.25 s; run 2 of" in words
    assert words.endswith("2 more columns have such runs")


@pytest.mark.parametrize("kind", ["virtual", "threads"])
def test_without_a_commit_nothing_is_the_best(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    shorten(elsewhere, monkeypatch, {"silo", "two_phase_locking"}, 0.0)
    done = run(*TWO_POLICIES, f"machine={kind}", "machine.cores=1,2", "output=found")
    assert done.exit_code == 0, done.output
    (best,) = [line.split() for line in done.output.splitlines() if line.startswith("  best")]
    assert best == ["best", "–", "–"]
    assert "run 1 of silo committed nothing" in " ".join(done.output.split())
    columns = json.loads(Path("found/transfer.json").read_text())["columns"]
    assert [column["best"] for column in columns] == [None, None]


def test_the_best_is_one_that_commits(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(elsewhere, monkeypatch, {"silo"}, 0.0)
    done = run(*TWO_POLICIES, "machine=virtual", "machine.cores=2,3")
    (best,) = [line.split() for line in done.output.splitlines() if line.startswith("  best")]
    assert best == ["best", *["two_phase_locking"] * 2]


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1})


def test_workers_that_share_cores_are_not_called_cores(
    elsewhere: ModuleType, two_cores: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    set_ticks = Axes.set_xticks

    def set_xticks(self: Axes, ticks: Any, labels: list[str], **style: Any) -> Any:
        written.extend(labels)
        return set_ticks(self, ticks, labels, **style)

    monkeypatch.setattr(Axes, "set_xticks", set_xticks)
    where = ("machine=threads", "machine.cores=2,3", "output=found")
    done = run(*TWO_POLICIES, *where)
    assert done.exit_code == 0, done.output
    table = done.stdout
    assert "3 workers" in table
    assert "on 2 real cores" in table
    assert "2 workers" not in table
    words = " ".join(table.split())
    assert "warning: cores 3: 3 workers share 2 cores and take turns" in words
    (warning,) = json.loads(Path("found/transfer.json").read_text())["warnings"]
    assert warning.startswith("cores 3: 3 workers share 2 cores")
    assert ["workers" in label for label in written] == [False, True]


def test_a_warning_of_all_places_is_shown_once(elsewhere: ModuleType, two_cores: None) -> None:
    where = ("machine=threads", "machine.cores=3", "workload.warehouses=1,2")
    words = " ".join(run(*TWO_POLICIES, *where).stdout.split())
    assert words.count("warning: 3 workers share 2 cores") == 1
    assert "3 workers on 2 real cores" in words


def test_a_title_of_both_kinds_does_not_call_workers_cores(
    elsewhere: ModuleType, two_cores: None
) -> None:
    words = " ".join(
        run(*TWO_POLICIES, "machine=threads,virtual", "machine.cores=3").stdout.split()
    )
    assert "real and virtual cores" in words
    assert "3 real" not in words
