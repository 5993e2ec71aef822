from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
from hydra.core.config_store import ConfigStore

from tests.slow import some_slow
from tests.trainer.dummy_search import Dummy, DummyConfig
from trainer.command.comparing import as_list
from trainer.command.errors import UsageError
from trainer.command.groups import group_choices
from trainer.command.scenarios import compose_scenarios
from trainer.command.settings import (
    compose_config,
    compose_settings,
    first_of_sweep,
    merge_overrides,
    register,
    swept_by_config,
    value_of,
)
from trainer.config import (
    CostsConfig,
    EvaluateConfig,
    NightlyConfig,
    TrainConfig,
    ValidationConfig,
    VirtualConfig,
    workload_options,
)
from trainer.search import SEARCHES
from trainer.search.evolution import EvolutionConfig
from trainer.search.guided import GuidedConfig
from trainer.search.registry import Entry


def train(*overrides: str) -> TrainConfig:
    return compose_settings("train", overrides, TrainConfig)


def test_settings_are_typed() -> None:
    config = train("workload.warehouses=2", "machine.cores=2", "search.generations=7", "seed=4")
    assert isinstance(config.search, GuidedConfig)
    assert config.search.generations == 7
    assert config.search.proposals == 16
    assert config.machine.cores == 2
    assert workload_options(config.workload) == {
        "name": "tpcc",
        "warehouses": "2",
        "mix": "read_write",
    }


def repeats(command: str, kind: type, *overrides: str) -> list[int]:
    config = compose_settings(command, ["machine=virtual", *overrides], kind)
    found = [config.run.repeats, config.tuning.rounds, config.tuning.final_rounds]
    return [*found, config.champion.rounds] if hasattr(config, "champion") else found


@pytest.mark.slow
def test_a_replay_on_virtual_cores_is_not_repeated() -> None:
    assert repeats("nightly", NightlyConfig) == [1, 1, 1, 1]
    # Comparisons use machines of several seeds (`trainer.repeats.varied`).
    assert repeats("train", TrainConfig, "workload=replay", "run.repeats=7") == [7, 1, 1, 1]
    assert repeats("evaluate", EvaluateConfig, "workload=replay", "run.repeats=7") == [7, 1, 1]
    assert train("machine=virtual", "workload=replay").validation.repeats == 21
    # Random inputs and measurements differ between runs.
    assert repeats("train", TrainConfig, "run.repeats=7")[0] == 7
    assert repeats("nightly", NightlyConfig, "machine=threads")[0] == 2
    assert repeats("nightly", NightlyConfig, "machine.schedule=delays")[0] == 2


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("train", ["search.generations=7", "workload.warehouses=2", "seed=4"]),
        ("train", ["experiment=quick", "seed=4", "machine=threads", "baselines=[silo]"]),
        ("train", ["machine=virtual", "machine.costs.memory_ns=90", "workload=ycsb"]),
        ("train", ["experiment=null", "+seed=4", "++search.parents=3", "forecast=false"]),
        ("evaluate", ["policy=[silo,ic3]", "run.seconds=2", "workload.mix=read_write"]),
        ("evaluate", ["run.seconds=word"]),
        ("evaluate", ["+run.seconds=2"]),
    ],
)
def test_values_are_set_as_hydra_sets_them(name: str, typed: list[str]) -> None:
    def composed(overrides: list[str]) -> object:
        try:
            return compose_config(name, overrides)
        except UsageError as error:
            return str(error)

    # With one of Hydra's own settings, Hydra composes all of them.
    assert composed(typed) == composed(["hydra.verbose=false", *typed])


def test_machine_settings_are_options_of_the_engine() -> None:
    assert train().machine.options() == {"kind": "threads"}
    machine = train("machine=virtual", "machine.seed=4", "machine.costs.memory_ns=70").machine
    assert isinstance(machine, VirtualConfig)
    assert (machine.kind, machine.cores) == ("virtual", 48)
    options = machine.options()
    assert (options["kind"], options["seed"], options["memory_ns"]) == ("virtual", "4", "70.0")
    # Workers are not part of the machine, and the engine has no group of costs.
    costs = {field.name for field in fields(CostsConfig)}
    schedule = {"schedule", "delay_every", "delay_us", "depth", "steps"}
    assert options.keys() == {"kind", "seed", "skew_ns"} | schedule | costs
    assert all(isinstance(value, str) and value != "???" for value in options.values())


def test_schedule_settings_are_options_of_the_engine() -> None:
    assert train("machine=virtual").machine.options()["schedule"] == "clock"
    options = train(
        "machine=virtual", "machine.schedule=priorities", "machine.depth=4", "machine.rescue=false"
    ).machine.options()
    assert (options["schedule"], options["depth"], options["rescue"]) == (
        "priorities",
        "4",
        "false",
    )


def test_lengths_of_measurements_depend_on_the_machine() -> None:
    real, virtual = train(), train("machine=virtual")
    for brief, long in (
        (virtual.run.seconds, real.run.seconds),
        (virtual.tuning.slice_seconds, real.tuning.slice_seconds),
        (virtual.evaluation.slice_seconds, real.evaluation.slice_seconds),
        (virtual.champion.slice_seconds, real.champion.slice_seconds),
    ):
        assert 0.0 < brief < long
    for machine, wanted in (("threads", real), ("virtual", virtual)):
        compared = compose_settings("evaluate", [f"machine={machine}"], EvaluateConfig)
        assert (compared.run, compared.tuning) == (wanted.run, wanted.tuning)
    # The validation of a search on virtual cores has the usual lengths of real cores.
    assert virtual.validation.tuning == real.tuning


def test_typed_settings_override_defaults_of_the_machine() -> None:
    typed = train("run.seconds=2", "evaluation.rungs=[5]", "machine=virtual")
    assert (typed.run.seconds, typed.evaluation.rungs) == (2.0, [5])
    assert typed.run.warmup == train("machine=virtual").run.warmup


def test_a_validation_follows_unless_disabled() -> None:
    validation = train("validation.cores=3", "validation.repeats=5").validation
    assert isinstance(validation, ValidationConfig)
    assert (validation.enabled, validation.cores, validation.repeats) == (True, 3, 5)
    assert not train("validation.enabled=false").validation.enabled


def test_groups_and_presets() -> None:
    assert train("workload=ycsb", "workload.theta=1").workload["name"] == "ycsb"
    assert train("experiment=paper").search.generations == 300
    quick = train("experiment=quick", "search.seconds=30")
    assert (quick.search.generations, quick.search.seconds) == (None, 30.0)
    assert quick.workload["name"] == "tpcc"


def test_a_null_preset_changes_nothing() -> None:
    assert train("experiment=null", "case=null", "seed=4") == train("seed=4")


def test_presets_of_minutes_bound_the_search_by_time() -> None:
    quick, threads = train("experiment=quick"), train("experiment=quick_threads")
    assert quick.search.name == "guided"
    assert (quick.search.generations, quick.search.seconds) == (None, 200.0)
    assert quick.machine.kind == "virtual"
    assert threads.search.name == "guided"
    assert (threads.search.generations, threads.search.seconds) == (None, 130.0)
    assert threads.machine.kind == "threads"


def test_a_variant_of_a_search_has_its_own_numbers() -> None:
    search = train("search=evolution_quick").search
    assert isinstance(search, EvolutionConfig)
    assert (search.name, search.decay, search.focus) == ("evolution", 0.95, 0.7)


def test_the_budget_of_the_paper_applies_to_evolution() -> None:
    search = train("experiment=paper").search
    assert isinstance(search, EvolutionConfig)
    assert (search.generations, search.parents, search.children) == (300, 8, 4)


@pytest.fixture
def dummy_search(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(SEARCHES, "dummy", Entry(Dummy, DummyConfig))
    for cached in (register, group_choices):
        cached.cache_clear()
    yield
    for cached in (register, group_choices):
        cached.cache_clear()
    for name in ("dummy.yaml", "dummy_schema.yaml"):
        del ConfigStore.instance().repo["search"][name]


@pytest.mark.usefixtures("dummy_search")
def test_a_search_needs_no_settings_file() -> None:
    assert train("search=dummy").search == DummyConfig(name="dummy")
    assert train("search=dummy", "search.cells=3").search == DummyConfig(name="dummy", cells=3)
    with pytest.raises(UsageError, match=r"did you mean search\.cells\?"):
        train("search=dummy", "search.cell=3")
    with pytest.raises(UsageError, match="it is available with search=dummy"):
        train("search.cells=3")


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    "experiment", some_slow(["quick", "quick_threads", "paper"], ["quick_threads", "paper"])
)
def test_a_preset_accepts_any_search(experiment: str, search: str) -> None:
    budget = train(f"experiment={experiment}").search
    found = train(f"experiment={experiment}", f"search={search}").search
    alone = train(f"search={search}").search
    bounds = {"generations": budget.generations, "seconds": budget.seconds}
    assert found == replace(alone, **bounds)


@pytest.mark.parametrize("workload", ["tpcc", "ycsb", "micro"])
@pytest.mark.parametrize("name", ["train", "evaluate"])
def test_every_workload_composes(name: str, workload: str) -> None:
    kind = {"train": TrainConfig, "evaluate": EvaluateConfig}[name]
    config = compose_settings(name, [f"workload={workload}"], kind)
    assert config.workload["name"] == workload


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("serch.generations=3", "did you mean search.generations?"),
        ("generations=3", "did you mean search.generations?"),
        ("workload.warehouse=3", "did you mean workload.warehouses?"),
        ("+seeds=3", "did you mean seed?"),
        (
            "workload=ycs",
            "did you mean ycsb?; there are bomb, epinions, generic, micro, replay, shop, small",
        ),
        ("experiment=slow", "there are factor_analysis, joint, joint_slow_store, locks_delay"),
        ("search.generations=many", "search.generations=many: Value 'many'"),
        ("search.proposals=3.5", "search.proposals=3.5: Value '3.5'"),
        ("search.parents=3", "no setting search.parents with search=guided; it is available with "),
        ("search.decay=1", "it is available with search=evolution or evolution_quick\n"),
        (
            "workload.theta=0.9",
            "with workload=tpcc; it is available with workload=epinions, micro, smallbank, ",
        ),
        (
            "machine.costs.memory_ns=9",
            "=threads; it is available with machine=virtual\n",
        ),
        ("workload.warehouses=two", "must be a whole number, such as workload.warehouses=1"),
        ("workload.mix=3", "must be a word, such as workload.mix=read_write"),
        ("evaluation.rungs=three", "evaluation.rungs=[three]: "),
        ("run=3", "set one of run.seconds, run.repeats, run.warmup"),
        ("seed", "write key=value"),
        ("seed=[1", "can't be read"),
        ("~seed", "can't be removed"),
        ("machine.cores=0", "machine.cores=0: must be at least 1"),
        ("machine.cores=100000", "machine.cores=100000: must be at most 1024"),
        ("run.seconds=0", "run.seconds=0.0: must be above 0"),
        (
            "machine.kind=abacus",
            "abacus: can't be set; choose the machine with machine=",
        ),
        ("machine=abacus", "there is no such machine; there are threads, virtual"),
        ("machine=vitual", "did you mean virtual?"),
        ("timing=fast", "there are slow_store, store, threads, virtual"),
        ("machine.skew_ns=0", "there is no setting machine.skew_ns"),
        ("machine/costs=paper", "machine/costs"),
        ("validation.cores=0", "validation.cores=0: must be at least 1"),
        ("validation.seconds=0", "validation.seconds=0.0: must be above 0"),
        ("validation.warmup=-1", "validation.warmup=-1.0: must not be negative"),
        ("validation.tuning.rounds=0", "validation.tuning.rounds=0: must be at least 1"),
        ("validation.enabled=perhaps", "validation.enabled=perhaps: "),
        ("run.warmup=-1", "must not be negative"),
    ],
)
def test_mistakes_are_reported(override: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        train(override)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("machine.cores=0", "machine.cores=0: must be at least 1"),
        ("machine.cores=300", "machine.cores=300: must be at most 256"),
        ("machine/costs=nope", "there is no such machine/costs; there are "),
        ("machine/costs=nope", "paper"),
        ("machine/costs=papr", "did you mean paper?"),
        ("machine.costs.memory=1", "did you mean machine.costs.memory_ns?"),
        ("machine.costs.memory_ns=far", "machine.costs.memory_ns=far: Value 'far'"),
        ("machine.skew=0", "did you mean machine.skew_ns?"),
        ("machine.cores=many", "machine.cores=many: Value 'many'"),
        ("machine.schedule=chance", "must be one of clock, delays, priorities"),
        ("machine.depth=0", "machine.depth=0: must be at least 1"),
        ("machine.delay_us=-1", "machine.delay_us=-1.0: must not be negative"),
        ("machine.rescue=perhaps", "machine.rescue=perhaps: "),
    ],
)
@pytest.mark.parametrize("name", ["train", "evaluate"])
def test_mistakes_on_virtual_cores_are_reported(name: str, override: str, message: str) -> None:
    kind = {"train": TrainConfig, "evaluate": EvaluateConfig}[name]
    with pytest.raises(UsageError) as caught:
        compose_settings(name, ["machine=virtual", override], kind)
    assert message in str(caught.value)


def test_a_command_without_a_group_does_not_list_its_choices() -> None:
    with pytest.raises(UsageError) as caught:
        compose_settings("evaluate", ["search.parents=3"], EvaluateConfig)
    assert "it is available with" not in str(caught.value)
    with pytest.raises(UsageError) as caught:
        compose_settings("nightly", ["workload.warehouses=3"], NightlyConfig)
    assert "it is available with" not in str(caught.value), "a night is of a trace"


def test_a_missing_setting_names_the_typed_choice() -> None:
    with pytest.raises(UsageError) as caught:
        train("search=evolution_quick", "search.elites=3")
    assert "with search=evolution_quick; it is available with search=guided\n" in str(caught.value)


def test_the_maximum_number_of_cores() -> None:
    assert train("machine=virtual", "machine.cores=256").machine.cores == 256
    assert train("machine.cores=1024").machine.cores == 1024


def test_an_unknown_key_gets_the_list_of_valid_ones() -> None:
    with pytest.raises(UsageError) as caught:
        train("nonsense=1")
    for line in ("  workload.warehouses=1", "  search.proposals=16", "  search=evolution"):
        assert line in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "policies"),
    [
        ("policy=silo", ["silo"]),
        ("policy=silo,occ,a/b-c.json", ["silo", "occ", "a/b-c.json"]),
        ("policy=[silo,random:3]", ["silo", "random:3"]),
        ("policy=runs/2026-11-21_08-48-51/policy.json", ["runs/2026-11-21_08-48-51/policy.json"]),
        ("policy=a b=(c).json,occ", ["a b=(c).json", "occ"]),
    ],
)
def test_several_policies_are_a_list_not_a_sweep(typed: str, policies: list[str]) -> None:
    config = compose_settings("evaluate", [as_list(typed)], EvaluateConfig)
    assert config.policy == policies


@pytest.mark.parametrize(
    ("typed", "scenarios"),
    [
        ("workload.warehouses=1,4", "{workload.warehouses:[1,4]}"),
        ("workload.warehouses=[1, 4]", "{workload.warehouses:[1,4]}"),
        ("machine.cores=[16,48]", "{machine.cores:[16,48]}"),
        ("case=[tpcc_1,tpcc_4]", "{case:[tpcc_1,tpcc_4]}"),
        ("workload=[tpcc,ycsb]", "{workload.warehouses:[1,4]}"),
        ("workload=tpcc,ycsb", "{workload.warehouses:[1,4]}"),
    ],
)
def test_several_workloads_suggest_a_robust_training(typed: str, scenarios: str) -> None:
    with pytest.raises(UsageError) as told:
        train(typed)
    _, typing = str(told.value).split("for one table for ")
    assert typing.endswith(f": 'robust.scenarios=[{scenarios}]'")
    config = train(f"robust.scenarios=[{scenarios}]", "machine=virtual")
    assert (
        len(compose_scenarios(config, [f"robust.scenarios=[{scenarios}]", "machine=virtual"])) == 2
    )
    with pytest.raises(UsageError) as told:
        compose_settings("evaluate", [typed], EvaluateConfig)
    assert "robust" not in str(told.value)


@pytest.mark.parametrize(
    "typed", ["seed=1,2", "machine=virtual,threads", "workload.warehouses=[4]", "workload=a"]
)
def test_invalid_scenarios_do_not_suggest_a_robust_training(typed: str) -> None:
    with pytest.raises(UsageError) as told:
        train(typed)
    assert "robust" not in str(told.value)


def test_only_policy_is_a_list() -> None:
    assert as_list("seed=1,2") == "seed=1,2"


def test_later_values_replace_earlier_ones() -> None:
    assert merge_overrides(["seed=1", "workload=ycsb"], ["seed=2"]) == ["seed=2", "workload=ycsb"]
    assert value_of(["resume=a/b", "seed=1"], "resume") == "a/b"
    assert value_of(["seed=1"], "resume") is None
    assert merge_overrides(["machine=virtual", "machine/costs=a"], ["machine/costs=b"]) == [
        "machine=virtual",
        "machine/costs=b",
    ]
    assert first_of_sweep(["seed=1,2", "workload.warehouses=range(1,4)"]) == [
        "seed=1",
        "workload.warehouses=1",
    ]


@pytest.mark.slow
def test_experiments_of_schedules_have_their_actions() -> None:
    table = {"wait_coarse", "wait_fine", "dirty_read", "public_write", "early_validation"}
    alone = train("experiment=schedule", "search.base=ic3")
    assert (alone.search.name, alone.search.actions) == ("guided", ["schedule"])
    assert (alone.search.base, alone.machine.cores) == ("ic3", 48)
    joint = train("experiment=joint", "search=local")
    assert joint.search.name == "local"
    assert set(joint.search.actions) == {*table, "backoff", "schedule"}
    swept = swept_by_config("train", ["experiment=schedule_factors"])
    assert set(swept) == {"case", "search.actions", "seed"}


def test_lengths_on_a_slow_store_match_its_transactions() -> None:
    slow = train("experiment=joint_slow_store", "case=ycsb_b")
    assert set(slow.search.actions) == set(train("experiment=joint").search.actions)
    assert workload_options(slow.workload)["read"] == "95"
    assert isinstance(slow.machine, VirtualConfig)
    assert slow.machine.costs.lookup_ns == 30_000
    transaction_s = 0.002
    for seconds in (
        slow.check.seconds,
        slow.evaluation.slice_seconds,
        slow.tuning.slice_seconds,
        slow.champion.slice_seconds,
        slow.run.seconds,
    ):
        assert seconds is not None
        assert seconds >= 20 * transaction_s
    assert not slow.validation.enabled, "real cores have no slow store"


def test_an_experiment_of_another_command_is_reported() -> None:
    with pytest.raises(UsageError, match="experiment=quick: sets search, which this command has"):
        compose_settings("evaluate", ["experiment=quick"], EvaluateConfig)


def test_a_list_of_a_workload_is_joined_and_an_empty_one_left_out() -> None:
    typed = {"name": "replay", "exclude": ["report", "backup"], "day": None}
    assert workload_options(typed) == {"name": "replay", "exclude": "report,backup"}
    assert workload_options({"name": "replay", "exclude": []}) == {"name": "replay"}
    with pytest.raises(UsageError, match=r"exclude=report: must be a list, such as .*=\[report\]"):
        train("workload=replay", "workload.exclude=report")
