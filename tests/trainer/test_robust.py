"""One table for several workloads, on the stand-in for the engine."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from envs.transfer import Place
from envs.trial import Trial
from policies import load
from policies.training_places import training_places
from tests.trainer.fake_run import of_warehouses, train, virtual_settings
from tests.trainer.fake_signatures import SIGNATURES
from tests.trainer.fake_trials import FakeTrialPool
from trainer.checkpoint import Checkpoint
from trainer.command.errors import UsageError
from trainer.command.main import heddle
from trainer.command.scenarios import compose_scenarios
from trainer.command.settings import compose_settings
from trainer.config import RobustConfig, TrainConfig, ValidationConfig
from trainer.policy_registry import tags_of
from trainer.search.evolution import EvolutionConfig

MIX = "robust.scenarios=[{workload.warehouses:[1,4]}]"

QUICK = [
    "machine=virtual",
    "machine.cores=4",
    "search=evolution",
    "search.generations=2",
    "search.parents=3",
    "search.children=2",
    "evaluation.backend=in_process",
    "mlflow.enabled=false",
    "report.enabled=false",
    "forecast=false",
    "validation.enabled=false",
    "tuning.rounds=1",
    "tuning.final_rounds=1",
    "champion.rounds=1",
    "run.repeats=2",
    "baselines=[silo,silo_tuned]",
]


@pytest.fixture
def opposed(fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Make the best tables for one and four warehouses opposites."""
    monkeypatch.setattr(fake_engine, "BEST_BY_WAREHOUSES", {"1": 1.0, "4": 64.0})
    return fake_engine


def robust(generations: int | None, combine: str = "worst", **changed: Any) -> TrainConfig:
    settings = {
        "robust": RobustConfig(combine=combine),
        "validation": ValidationConfig(enabled=False),
        "search": EvolutionConfig("evolution", generations, parents=4, children=3),
        **changed,
    }
    return virtual_settings(generations, **settings)


def train_both(config: TrainConfig, folder: Path) -> Any:
    return train(config, folder, of_warehouses(config, 1, 4))


def score(outcome: Any, name: str = "silo_tuned") -> list[float]:
    return [one.comparison.scores("learned")[name] for one in outcome.closings]


def trace(folder: Path) -> list[Any]:
    """Return the history of a run without times, which differ between runs."""
    state = Checkpoint.load(folder)
    history = [(r.generation, r.evaluations, r.slices, r.best, r.scores) for r in state.history]
    return [state.tuned_us, state.search, state.samples, history]


@pytest.mark.slow
def test_the_worst_case_is_better_than_with_tables_for_one_scenario(
    opposed: ModuleType, tmp_path: Path
) -> None:
    both = train_both(robust(12), tmp_path / "both")
    mean = train_both(robust(12, "mean"), tmp_path / "mean")
    worst, means = min(score(both)), math.sqrt(math.prod(score(mean)))
    for alone in (1, 4):
        config = robust(12)
        scenarios = of_warehouses(config, alone)
        train(config, tmp_path / str(alone), scenarios)
        table = load(tmp_path / str(alone) / "policy.json")
        elsewhere = [
            opposed._relative("policy_table", _compiled(opposed, table), "policy", 0.0, best) / 1.2
            for best in (1.0, 64.0)
        ]
        assert min(elsewhere) < worst
    assert worst >= min(score(mean)) - 1e-9
    assert means >= math.sqrt(math.prod(score(both))) - 1e-9


def _compiled(engine: ModuleType, document: Any) -> Any:
    return engine.Policy(json.dumps(document.to_dict()), SIGNATURES["tpcc"])


def test_each_scenario_has_its_own_reference_and_samples(
    opposed: ModuleType, tmp_path: Path
) -> None:
    train_both(robust(3), tmp_path / "run")
    state = Checkpoint.load(tmp_path / "run")
    assert state.tuned_us == [1.0, 64.0]
    for entry in state.samples:
        one, four = entry["scenarios"]
        assert len(one["ratios"]) == len(four["ratios"])
        assert one["last"]["workload"]["warehouses"] == "1"
        assert four["last"]["workload"]["warehouses"] == "4"
        # Four warehouses are four times as fast for the reference, too, so that ratios are equal.
        assert max(four["ratios"]) < 1.5
    for record in state.history:
        assert record.best == pytest.approx(min(record.scores))


@pytest.mark.parametrize("combine", ["mean", "worst"])
def test_a_resumed_run_equals_an_undisturbed_one(
    opposed: ModuleType, tmp_path: Path, combine: str
) -> None:
    train_both(robust(4, combine), tmp_path / "straight")
    for generations in (1, 2, 4):
        train_both(robust(generations, combine), tmp_path / "stopped")
    assert trace(tmp_path / "stopped") == trace(tmp_path / "straight")


def test_ctrl_c_in_the_second_sweep_keeps_the_first(
    opposed: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_both(robust(1), tmp_path / "straight")
    run = opposed.Session.run

    def cut(self: Any, *arguments: Any, **named: Any) -> Any:
        if self.workload["warehouses"] == "4":
            raise KeyboardInterrupt
        return run(self, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(opposed.Session, "run", cut)
        with pytest.raises(KeyboardInterrupt):
            train_both(robust(1), tmp_path / "cut")
    assert Checkpoint.load(tmp_path / "cut").tuned_us == [1.0]
    train_both(robust(1), tmp_path / "cut")
    assert trace(tmp_path / "cut") == trace(tmp_path / "straight")


def test_a_candidate_counts_an_evaluation_for_each_scenario(
    opposed: ModuleType, tmp_path: Path
) -> None:
    search = EvolutionConfig(name="evolution", generations=None, evaluations=97)
    train_both(robust(None, search=search), tmp_path / "run")
    history = Checkpoint.load(tmp_path / "run").history
    assert history[-1].evaluations == 96
    assert all(record.evaluations % 2 == 0 for record in history)


def test_every_best_is_checked_in_each_scenario(opposed: ModuleType, tmp_path: Path) -> None:
    train_both(robust(4), tmp_path / "run")
    checked = [(one.subject.name, one.workload["warehouses"]) for one in FakeTrialPool.checked]
    keys = Checkpoint.load(tmp_path / "run").checked
    assert sorted(checked) == sorted((key, number) for key in keys for number in "14")


def test_a_table_that_fails_the_check_in_one_scenario_is_refused(
    opposed: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publishes_at_four(trial: Trial) -> bool:
        rows = json.loads(trial.subject.policy or "{}")["cc"]
        public = any(row["write_visibility"] == "PUBLIC" for row in rows)
        return public and trial.workload["warehouses"] == "4"

    monkeypatch.setattr(FakeTrialPool, "fails", staticmethod(publishes_at_four))
    train_both(robust(6), tmp_path / "run")
    state = Checkpoint.load(tmp_path / "run")
    assert state.refused
    assert all("warehouses 4: write skew" in reason for reason in state.refused.values())
    table = load(tmp_path / "run" / "policy.json")
    assert all(row.write_visibility != "PUBLIC" for row in table.cc)


def test_the_policy_records_its_scenarios(opposed: ModuleType, tmp_path: Path) -> None:
    outcome = train_both(robust(3), tmp_path / "run")
    document = load(tmp_path / "run" / "policy.json")
    known = document.provenance
    assert known["combine"] == "worst"
    assert "workload" not in known
    machine = {"kind": "virtual", "cores": 4}
    for scenario, number, one in zip(known["scenarios"], "14", outcome.closings, strict=True):
        assert scenario["workload"]["warehouses"] == number
        assert scenario["machine"] == machine
        assert scenario["scores"] == _rounded(one.comparison.scores("learned"))
    assert known["scores"] == _rounded(outcome.scores)
    assert outcome.scores["silo_tuned"] == pytest.approx(min(score(outcome)))
    for workload in (home.workload for home in training_places(known)):
        place = Place("", workload, machine, 4)
        assert place.is_training_place(outcome.closings[0].comparison.rows[0].subject) is False
        assert _is_home(place, document)
    assert not _is_home(Place("", {"name": "tpcc", "warehouses": "2"}, machine, 4), document)
    tags = tags_of(document)
    assert tags["heddle.workload"] == "tpcc warehouses=1 | tpcc warehouses=4"
    assert tags["heddle.machine"] == "4 virtual cores | 4 virtual cores"
    assert tags["heddle.combine"] == "worst"


def _is_home(place: Place, document: Any) -> bool:
    from envs import of_policy
    from policies import to_json

    return place.is_training_place(of_policy("learned", to_json(document)))


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(score, 4) for name, score in scores.items()}


def test_on_real_cores_scenarios_of_one_workload_share_a_comparison(
    fake_engine: ModuleType, tmp_path: Path
) -> None:
    search = EvolutionConfig("evolution", 1, parents=4, children=3)
    config = virtual_settings(1, search=search)
    outcome = train(config, tmp_path / "run", of_warehouses(config, 1, 1, 4))
    one, same, other = (closing.validation for closing in outcome.closings)
    assert one is same
    assert one is not other
    assert len(outcome.comparisons) == 5
    written = load(tmp_path / "run" / "policy.json").provenance
    assert all(scenario["scores_on_threads"] for scenario in written["scenarios"])
    assert written["scores_on_threads"].keys() == written["scores"].keys()


def composed(*typed: str) -> list[Any]:
    return compose_scenarios(compose_settings("train", list(typed), TrainConfig), typed)


def test_scenarios_are_all_combinations_of_listed_values(fake_engine: ModuleType) -> None:
    found = composed(
        "machine=virtual",
        "robust.scenarios=[{workload.warehouses:[1,4],machine.cores:[16,48]},{case:tpcc_16}]",
    )
    assert [one.label for one in found] == [
        "warehouses 1, cores 16",
        "warehouses 1, cores 48",
        "warehouses 4, cores 16",
        "warehouses 4, cores 48",
        "tpcc_16",
    ]
    assert [one.workload["warehouses"] for one in found] == ["1", "1", "4", "4", "16"]
    assert [one.config.machine.cores for one in found] == [16, 48, 16, 48, 48]
    assert [one.name for one in found][-2:] == ["4-warehouses_4_cores_48", "5-tpcc_16"]


def test_scenarios_can_differ_in_costs_of_virtual_cores(fake_engine: ModuleType) -> None:
    found = composed("machine=virtual", "robust.scenarios=[{machine/costs:[paper,server_128]}]")
    assert [one.label for one in found] == ["costs paper", "costs server_128"]
    assert (
        found[0].settings["machine.costs.transfer_ns"]
        != (found[1].settings["machine.costs.transfer_ns"])
    )


def test_values_in_scenarios_can_be_quoted(fake_engine: ModuleType) -> None:
    found = composed("workload=replay", r"robust.scenarios=[{workload.trace:'a \'b\' c'}]")
    assert found[0].workload["trace"] == "a 'b' c"


def test_without_scenarios_the_set_workload_is_the_only_one(
    fake_engine: ModuleType,
) -> None:
    (found,) = composed("workload.warehouses=2")
    assert (found.label, found.prefix, found.workload["warehouses"]) == ("", "", "2")


@pytest.mark.parametrize(
    ("scenarios", "message"),
    [
        ("[{workload.warehouses:[1,x]}]", r"scenario 2 \(warehouses x\): .*must be a whole number"),
        ("[{workload.warehousses:1}]", "did you mean workload.warehouses"),
        (
            "[{search.generations:1}]",
            "search.generations: scenarios may differ in settings of",
        ),
        ("[{workload.warehouses:1},{case:tpcc_1}]", r"1 \(warehouses 1\) and 2 \(tpcc_1\) are the"),
        ("[{machine:virtual},{machine:threads}]", "threads; set the same machine= in all"),
        (
            "[{machine:virtual,workload.warehouses:[1,4]}]",
            "set machine=virtual for the training",
        ),
        ("[{}]", "sets nothing"),
        ("[{workload.warehouses:[]}]", "sets nothing"),
        ("[1]", "robust.scenarios"),
        (f"[{{workload.warehouses:{list(range(1, 100))}}}]", "makes 99 scenarios; set at most 64"),
    ],
)
def test_invalid_scenarios_are_refused(
    fake_engine: ModuleType, scenarios: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        composed(f"robust.scenarios={scenarios.replace(' ', '')}")


@pytest.fixture
def elsewhere(opposed: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    return opposed


def run(*words: str) -> Result:
    return CliRunner().invoke(heddle, words, catch_exceptions=False)


def only_run() -> Path:
    (folder,) = Path("runs").glob("*seed*")
    return folder


def trained(*more: str) -> Path:
    done = run("train", *QUICK, MIX, "robust.combine=worst", *more)
    assert done.exit_code == 0, done.output
    folder = only_run()
    for what in ("in all scenarios", "warehouses 1", "warehouses 4", "worst"):
        assert what in done.output
    return folder


@pytest.mark.slow
def test_the_command_keeps_a_folder_for_each_scenario(elsewhere: ModuleType) -> None:
    folder = trained()
    for number, warehouses in ((1, "1"), (2, "4")):
        own = folder / f"scenario-{number}"
        document = json.loads((own / "comparison.json").read_text())
        assert document["workload"]["warehouses"] == warehouses
        assert f"warehouses: {warehouses}" in (own / "config.yaml").read_text()
        assert "learned" in (own / "comparison.txt").read_text()
    assert not (folder / "comparison.json").exists()


@pytest.mark.slow
def test_a_single_scenario_is_an_ordinary_training(elsewhere: ModuleType) -> None:
    done = run(
        "train", *QUICK, "robust.scenarios=[{workload.warehouses:4}]", "workload.warehouses=1"
    )
    assert done.exit_code == 0, done.output
    folder = only_run()
    assert load(folder / "policy.json").provenance["workload"]["warehouses"] == "4"
    assert json.loads((folder / "comparison.json").read_text())["workload"]["warehouses"] == "4"
    assert "warehouses: 4" in (folder / "config.yaml").read_text()
    Path("runs").rename("before")
    assert run("train", *QUICK, "workload.warehouses=4").exit_code == 0
    before = Path("before") / folder.name
    assert trace(only_run()) == trace(before)


@pytest.mark.slow
def test_a_run_resumes_only_with_the_same_scenarios(elsewhere: ModuleType) -> None:
    folder = trained()
    done = run("train", f"resume={folder}", "search.generations=3")
    assert done.exit_code == 0, done.output
    assert len(Checkpoint.load(folder).history) == 3
    for other, message in (
        ("robust.scenarios=[{workload.warehouses:[1,2]}]", "scenario 2's workload.warehouses is 2"),
        ("robust.scenarios=[{workload.warehouses:[1,4,8]}]", "scenario 3's machine.kind is"),
        ("robust.scenarios=[]", "is not set, but was"),
        ("robust.combine=mean", "robust.combine is mean, but was worst"),
    ):
        done = run("train", f"resume={folder}", other)
        assert done.exit_code == 2, done.output
        assert message in done.output or "not set" in done.output, done.output


def test_scenarios_of_different_signatures_are_refused_by_name(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SIGNATURES, "ycsb", {**SIGNATURES["transfer"], "workload": "ycsb"})
    done = run("train", *QUICK, "robust.scenarios=[{case:tpcc_1},{case:ycsb}]")
    assert done.exit_code == 2
    words = " ".join(done.output.split())
    assert "tpcc_1 (tpcc; accesses: new_order with 11" in words
    assert "ycsb (ycsb; accesses: transfer with 2)" in words
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["robust.combine=best"], "robust.combine=best: no such combination"),
        (["search.evaluations=1"], "search.evaluations=1: must be at least 2"),
    ],
)
def test_mistakes_are_reported_before_measuring(
    elsewhere: ModuleType, words: Sequence[str], message: str
) -> None:
    done = run("train", *QUICK, MIX, *words)
    assert done.exit_code == 2
    assert message in done.output
    assert not Path("runs").exists()


def test_a_sweep_reports_a_bad_scenario_before_the_first_run(elsewhere: ModuleType) -> None:
    mixes = "robust.scenarios=[{workload.warehouses:1}],[{workload.warehouses:x}]"
    done = run("train", "-m", *QUICK, mixes)
    assert done.exit_code == 2
    assert "must be a whole number" in done.output
    assert not Path("runs").exists()


@pytest.mark.slow
def test_the_report_has_every_scenario(elsewhere: ModuleType) -> None:
    folder = trained()
    done = run("report", str(folder), "timeline.enabled=false", "variance.enabled=false")
    assert done.exit_code == 0, done.output
    text = (folder / "report.html").read_text()
    for words in (
        "Comparison with the baselines, on 4 virtual cores (warehouses 1)",
        "Comparison with the baselines, on 4 virtual cores (warehouses 4)",
        "the worst case over 2 scenarios",
        "each in 2 scenarios",
        "learned (warehouses 4)",
    ):
        assert words in text, words
    assert "Missing parts" not in text
    (folder / "scenario-2" / "comparison.json").unlink()
    assert (
        run("report", str(folder), "timeline.enabled=false", "variance.enabled=false").exit_code
        == 0
    )
    assert "the closing comparison (warehouses 4)" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_transfer_marks_every_scenario_as_home(elsewhere: ModuleType) -> None:
    policy = trained() / "policy.json"
    places = ["machine=virtual", "machine.cores=4", "workload.warehouses=1,2,4"]
    done = run("evaluate", f"policy=silo,{policy}", *places, "output=found")
    assert done.exit_code == 0, done.output
    found = json.loads(Path("found/transfer.json").read_text())
    homes_of = [bool(column["trained_here"]) for column in found["columns"]]
    assert homes_of == [True, False, True]


def test_adding_to_the_library_asks_for_a_scenario(elsewhere: ModuleType) -> None:
    done = run("policy", "add", str(trained()), "--folder", "shelf")
    assert done.exit_code == 2
    assert "'robust.scenarios=[]' workload.warehouses=4" in done.output


@pytest.mark.slow
def test_the_record_has_every_scenario(elsewhere: ModuleType) -> None:
    trained("mlflow.enabled=true")
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{Path('runs').resolve()}/mlflow.db")
    (record,) = client.search_runs(["1"])
    metrics = record.data.metrics
    each = [metrics[f"score/{name}/silo"] for name in ("1-warehouses_1", "2-warehouses_4")]
    assert metrics["score/silo"] == pytest.approx(min(each))
    kept = [file.path for file in client.list_artifacts(record.info.run_id, "scenario-2")]
    assert "scenario-2/comparison.json" in kept
