"""`heddle policy` and starting searches from it, on the stand-in for the engine."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from envs import UnknownPolicyError, subject_of, untuned
from policies import Encoding, PolicyFileError, Signature, build_seed, load, resolve, save, shipped
from policies.policy_digest import policy_digest
from policies.shipped import library_names, library_path
from tests.trainer.fake_run import settings
from trainer.command.main import heddle
from trainer.config import MachineConfig
from trainer.policy_library import measuring
from trainer.policy_library.entry import adding, read_entry
from trainer.policy_library.measuring import FRESH, SEED_MAX
from trainer.policy_library.naming import entry_name
from trainer.policy_library.start import start_tables
from trainer.repeats import SEED_STRIDE
from trainer.search.evolution import EvolutionConfig

NAME = "tpcc_4_warehouses_3_virtual_cores"
DEFAULTS = {"name": "tpcc", "warehouses": "1", "mix": "read_write"}


def run(*words: str) -> Result:
    return CliRunner().invoke(heddle, list(words))


@pytest.fixture
def elsewhere(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ModuleType:
    """Provide an empty library, and a table better than every baseline of the stand-in."""
    monkeypatch.chdir(tmp_path)
    library = tmp_path / "library"
    library.mkdir()
    monkeypatch.setattr(shipped, "FOLDER", library)
    write_table(tmp_path / "good.json")
    return fake_engine


def write_table(path: Path, *, backoff_us: float = 4.0) -> None:
    """Write OCC's table with public writes in even states and a constant backoff; 4 µs is best."""
    document = json.loads(run("policy", "show", "occ", "--json").output)
    for row in document["cc"]:
        if row["write_visibility"] and row["state"] % 2 == 0:
            row["write_visibility"] = "PUBLIC"
    for row in document["backoff"].values():
        row.update(initial_us=backoff_us, abort=[0, 0, 0], commit=[0, 0, 0])
    document["provenance"] = {
        "search": "evolution",
        "workload": {"name": "tpcc", "warehouses": "4", "mix": "read_write"},
        "machine": {"kind": "virtual", "cores": 3},
    }
    path.write_text(json.dumps(document))


def add(*words: str) -> Result:
    return run("policy", "add", *words, "--folder", "library")


def test_a_table_better_than_all_is_added_listed_and_verified(
    elsewhere: ModuleType, tmp_path: Path
) -> None:
    done = add("good.json")
    assert done.exit_code == 0, done.output
    path = tmp_path / "library" / f"{NAME}.json"
    provenance = json.loads(path.read_text())["provenance"]
    assert min(provenance["scores"].values()) > 1.0
    assert provenance["search"] == "evolution"
    assert provenance["library"]["digest"] == policy_digest(load(path, check=False))
    assert provenance["library"]["measured"]["cores"] == 3
    listed = run("policy", "list")
    assert listed.exit_code == 0, listed.output
    assert NAME in listed.output
    verified = run("policy", "verify", "--json", "found.json")
    assert verified.exit_code == 0, verified.output
    (found,) = json.loads((tmp_path / "found.json").read_text())["tables"]
    assert found["holds"]
    assert found["measured"] == pytest.approx(found["recorded"], abs=1e-4)


def test_a_quick_verification_measures_the_best_baseline_only(
    elsewhere: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert add("good.json").exit_code == 0
    path = tmp_path / "library" / f"{NAME}.json"
    recorded = json.loads(path.read_text())["provenance"]["scores"]
    best = min(recorded, key=recorded.__getitem__)
    done = run("policy", "verify", "--quick", "--format", "json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["quick"]
    measured = document["tables"][0]["measured"]
    assert measured == pytest.approx({best: recorded[best]}, abs=1e-4)

    def no_sweep(*_: object) -> None:
        raise AssertionError("silo_tuned is no baseline here")

    monkeypatch.setattr(measuring, "tune_silo", no_sweep)
    document = json.loads(path.read_text())
    document["provenance"]["scores"]["occ"] = best_score = min(recorded.values()) * 0.99
    path.write_text(json.dumps(document))
    done = run("policy", "verify", "--quick", "--format", "json")
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["tables"]
    assert found["measured"].keys() == {"occ"}
    assert found["measured"]["occ"] >= best_score


def limited(source: Path, value: float) -> None:
    """Give a policy file a limit on a latency, of which the stand-in's p99 is 40 µs."""
    document = json.loads(source.read_text())
    limit = {"metric": "p99", "type_name": "new_order", "value": value}
    document["provenance"]["objective"] = {"metric": "throughput", "types": [], "limits": [limit]}
    source.write_text(json.dumps(document))


def test_the_limits_of_a_table_hold_in_the_library(elsewhere: ModuleType, tmp_path: Path) -> None:
    limited(tmp_path / "good.json", 39.0)
    refused = add("good.json")
    assert refused.exit_code == 1
    exceeded = "exceeds its limits: new_order.p99 40 µs > 39 µs"
    assert f"not added: {exceeded}" in refused.output
    assert not list((tmp_path / "library").iterdir())
    limited(tmp_path / "good.json", 41.0)
    assert add("good.json").exit_code == 0
    assert f"{NAME}:\n  throughput; new_order.p99 ≤ 41 µs" in run("policy", "list").output
    assert run("policy", "verify").exit_code == 0
    path = tmp_path / "library" / f"{NAME}.json"
    document = json.loads(path.read_text())
    document["provenance"]["library"]["measured"]["objective"]["limits"][0]["value"] = 39.0
    path.write_text(json.dumps(document))
    verified = run("policy", "verify")
    assert verified.exit_code == 1
    assert exceeded in " ".join(verified.output.split())


def test_a_table_of_several_limits_or_a_damaged_objective_is_refused(
    elsewhere: ModuleType, tmp_path: Path
) -> None:
    document = json.loads((tmp_path / "good.json").read_text())
    for objective, words in (
        ([], "its limits differ by scenario"),
        ({"metric": "speed", "types": [], "limits": []}, "provenance.objective can't be read"),
    ):
        document["provenance"]["objective"] = objective
        (tmp_path / "good.json").write_text(json.dumps(document))
        done = add("good.json")
        assert done.exit_code == 2
        assert words in done.output


def test_the_list_shows_unusual_settings(elsewhere: ModuleType) -> None:
    assert add("good.json", "workload.mix=full", "--name", "full").exit_code == 0
    path = Path("library/full.json")
    document = json.loads(path.read_text())
    document["provenance"]["library"]["measured"]["workload"] = {"name": "gone", "size": "4"}
    Path("library/unknown.json").write_text(json.dumps(document))
    assert add("good.json", "workload.warehouses=1").exit_code == 0
    listed = run("policy", "list")
    assert listed.exit_code == 0, listed.output
    for words in ("tpcc, warehouses 4, mix full  ", "tpcc, warehouses 1  ", "gone, size 4  "):
        assert words in listed.output


def test_tables_of_another_folder_are_listed_and_verified(
    elsewhere: ModuleType, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    assert run("policy", "add", "good.json", "--folder", str(shared)).exit_code == 0
    listed = run("policy", "list", "--folder", str(shared), "--format", "json")
    assert listed.exit_code == 0, listed.output
    assert [one["table"] for one in json.loads(listed.stdout)["tables"]] == [NAME]
    assert NAME in run("policy", "list", "--folder", "shared").output
    for words in (["--folder", "shared"], [NAME, "--folder", "shared"]):
        verified = run("policy", "verify", *words)
        assert verified.exit_code == 0, verified.output
        assert NAME in verified.output
    (shared / "other.json").write_text("{")
    listed = run("policy", "list", "--folder", "shared")
    assert listed.exit_code == 1
    assert NAME in listed.stdout
    assert "error: shared/other.json" in listed.stderr


@pytest.mark.parametrize("verb", ["list", "verify"])
def test_a_folder_without_tables_is_reported(
    elsewhere: ModuleType, tmp_path: Path, verb: str
) -> None:
    assert add("good.json").exit_code == 0
    (tmp_path / "empty").mkdir()
    for folder, message in (
        ("nowhere", "--folder nowhere: there is no such folder"),
        ("good.json", "--folder good.json: there is no such folder"),
        ("empty", "--folder empty: contains no table (*.json)"),
    ):
        done = run("policy", verb, "--folder", folder)
        assert done.exit_code == 2, done.output
        assert message in done.stderr
    done = run("policy", "verify", "missing", "--folder", "library")
    assert f"missing: library has no such table; there are {NAME}" in done.stderr


def test_the_list_of_bundled_tables_fits_a_terminal() -> None:
    listed = run("policy", "list")
    assert listed.exit_code == 0, listed.output
    read = json.loads(run("policy", "list", "--format", "json").stdout)
    assert {one["table"] for one in read["tables"]} == set(library_names())
    widest = max(map(len, listed.output.splitlines()))
    assert widest - max(map(len, library_names())) <= 80
    assert "ycsb, theta 0.9 " in listed.output


def test_a_table_equal_to_a_baseline_is_not_added(elsewhere: ModuleType, tmp_path: Path) -> None:
    write_table(tmp_path / "slow.json", backoff_us=1024.0)
    done = add("slow.json")
    assert done.exit_code == 1
    assert "not added: " in done.output
    assert "silo_tuned was as fast" in done.output
    assert not list((tmp_path / "library").iterdir())


def test_a_table_that_became_worse_is_reported(
    elsewhere: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert add("good.json").exit_code == 0
    path = tmp_path / "library" / f"{NAME}.json"
    document = json.loads(path.read_text())
    for name in document["provenance"]["scores"]:
        document["provenance"]["scores"][name] *= 1.1
    path.write_text(json.dumps(document))
    done = run("policy", "verify")
    assert done.exit_code == 1
    assert "worse than recorded by 9.1%" in done.output
    assert run("policy", "verify", "--tolerance", "0.1").exit_code == 0
    monkeypatch.setattr(elsewhere, "_relative", lambda *arguments: 1.0)
    done = run("policy", "verify", "--tolerance", "1")
    assert done.exit_code == 1
    assert "is as fast" in done.output
    monkeypatch.setattr(
        elsewhere, "_relative", lambda protocol, policy, *rest: 1.0 if policy is None else 0.5
    )
    done = run("policy", "verify", "--tolerance", "1")
    assert "beats it" in done.output


def test_a_table_changed_after_measuring_is_reported(elsewhere: ModuleType, tmp_path: Path) -> None:
    assert add("good.json").exit_code == 0
    path = tmp_path / "library" / f"{NAME}.json"
    document = json.loads(path.read_text())
    document["cc"][2]["early_validation"] = True
    path.write_text(json.dumps(document))
    done = run("policy", "verify", NAME)
    assert done.exit_code == 1
    assert "was changed after its measurement" in done.output
    assert f"heddle policy add {path} --folder {path.parent} --name {NAME} --replace" in done.output
    document["name"], document["cc"][2]["early_validation"] = "another name", False
    path.write_text(json.dumps(document))
    assert run("policy", "verify", NAME).exit_code == 0


def test_a_table_for_another_signature_fails_verification(
    elsewhere: ModuleType, tmp_path: Path
) -> None:
    assert add("good.json").exit_code == 0
    path = tmp_path / "library" / f"{NAME}.json"
    document = json.loads(path.read_text())
    document["provenance"]["library"]["measured"]["workload"] = {"name": "transfer"}
    path.write_text(json.dumps(document))
    done = run("policy", "verify")
    assert done.exit_code == 1
    assert "does not fit the current signature of transfer" in done.output


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("run", {"seconds": 0.1, "repeats": 0, "warmup": 0.0}, "repeats is 0"),
        ("run", {"seconds": "long", "repeats": 1, "warmup": 0.0}, "could not convert"),
        ("tuning", {}, "slice_seconds"),
        ("cores", None, "is not a record of a measurement"),
        ("workload", [], "is not a record of a measurement"),
    ],
)
def test_a_damaged_record_is_reported(
    elsewhere: ModuleType, tmp_path: Path, field: str, value: object, message: str
) -> None:
    assert add("good.json").exit_code == 0
    path = tmp_path / "library" / f"{NAME}.json"
    document = json.loads(path.read_text())
    document["provenance"]["library"]["measured"][field] = value
    path.write_text(json.dumps(document))
    done = run("policy", "verify")
    assert done.exit_code == 2
    assert message in done.output
    assert str(path) in done.output


def test_a_record_without_a_digest_is_reported(elsewhere: ModuleType, tmp_path: Path) -> None:
    assert add("good.json").exit_code == 0
    path = tmp_path / "library" / f"{NAME}.json"
    document = json.loads(path.read_text())
    del document["provenance"]["library"]["digest"]
    path.write_text(json.dumps(document))
    done = run("policy", "verify")
    assert done.exit_code == 2
    assert "library.digest is missing" in done.output
    assert f"--name {NAME} --replace" in done.output


def test_bundled_tables_record_their_measurement() -> None:
    for name in library_names():
        entry = read_entry(library_path(name))
        assert not entry.changed
        assert entry.document.name == name
        in_store = entry.measurement.store is not None
        assert entry.measurement.machine["kind"] == ("threads" if in_store else "virtual")
        assert bool(entry.hardware) == in_store
        assert min(entry.scores.values()) > 1.0


def test_ctrl_c_shows_finished_verifications(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert add("good.json").exit_code == 0
    assert add("good.json", "machine.cores=5").exit_code == 0
    begun = elsewhere.Session.run

    def run_on_three(self: object, *arguments: object, **named: object) -> object:
        if getattr(self, "workers", 0) == 5:
            raise elsewhere.Interrupted
        return begun(self, *arguments, **named)

    monkeypatch.setattr(elsewhere.Session, "run", run_on_three)
    done = run("policy", "verify")
    assert done.exit_code == 130
    assert "interrupted: 1 of 2 policies verified" in done.output
    assert "holds" in done.output


def test_tables_are_replaced_only_on_request(elsewhere: ModuleType) -> None:
    assert add("good.json").exit_code == 0
    again = add("good.json")
    assert again.exit_code == 2
    assert "exists already; replace it with --replace" in again.output
    assert add("good.json", "--replace").exit_code == 0


def test_a_table_measured_again_keeps_its_name(elsewhere: ModuleType, tmp_path: Path) -> None:
    """It does not replace another table of the same place; in another place it gets a new name."""
    assert add("good.json").exit_code == 0
    assert add("good.json", "--name", "better").exit_code == 0
    library = tmp_path / "library"
    before = (library / f"{NAME}.json").read_text()
    again = add("library/better.json", "--replace", "run.repeats=7")
    assert again.exit_code == 0, again.output
    assert f"added: {Path('library/better.json')}" in again.output
    assert (library / f"{NAME}.json").read_text() == before
    assert read_entry(library / "better.json").measurement.run.repeats == 7
    moved = add("library/better.json", "workload.warehouses=2")
    assert moved.exit_code == 0, moved.output
    assert (library / "tpcc_2_warehouses_3_virtual_cores.json").exists()


def test_the_folder_of_a_run_is_added_with_its_settings(
    elsewhere: ModuleType, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy("good.json", folder / "policy.json")
    typed = ["machine=virtual", "machine.cores=4", "workload.warehouses=2", "seed=5"]
    (folder / "overrides.json").write_text(json.dumps(typed))
    done = add("run")
    assert done.exit_code == 0, done.output
    path = tmp_path / "library" / "tpcc_2_warehouses_4_virtual_cores.json"
    measured = json.loads(path.read_text())["provenance"]["library"]["measured"]
    assert measured["workload"]["warehouses"] == "2"
    assert measured["seed"] > 5 * 1_000_003


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "absent.json"), "there is no such file"),
        (("add", "."), "is not a readable folder of a run"),
        (("add", "good.json", "--name", "a/b"), "letters, digits and _; use --folder"),
        (("add", "good.json", "--name", ""), "letters, digits and _; use --folder"),
        (("add", "good.json", "--name", "x" * 300), "letters, digits and _; use --folder"),
        (("add", "good.json", "--name", "ic3"), "has another meaning"),
        (("add", "good.json", "--name", "silo"), "has another meaning"),
        (("add", "good.json", "--name", "library"), "has another meaning"),
        (
            ("add", "good.json", "machine=threads"),
            "machine=threads: tables for the engine are measured on",
        ),
        (("verify", "x" * 300), "is too long for the name of a file"),
        (("verify", "--tolerance", "nan"), "--tolerance nan: must be from 0 to 1"),
        (("verify", "--json", "x" * 250), "File name too long; choose a shorter name"),
        (("verify", "--json", "/dev/null"), "is a device or a pipe"),
        (("add", "good.json", "--folder", "good.json"), "can't be created"),
        (("add", "plain.json"), "does not name workload, machine and cores"),
        (("add", "good.json", "baselines=[]"), "needs baselines"),
        (("add", "good.json", "baselines=[sill]"), "did you mean silo?"),
        (("verify", "nothing"), "the library has no such table"),
        (("verify", "good.json"), "provenance: has no field library"),
        (("verify", "--tolerance", "2"), "is not in the range"),
        (("verify", "--json", "nowhere/x.json"), "there is no directory nowhere"),
    ],
)
def test_a_mistake_is_explained(
    elsewhere: ModuleType, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    document = json.loads((tmp_path / "good.json").read_text())
    (tmp_path / "plain.json").write_text(json.dumps(document | {"provenance": {}}))
    done = run("policy", *words)
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.output.split())


def test_names_of_the_library_are_policies(elsewhere: ModuleType, tpcc: Signature) -> None:
    assert add("good.json").exit_code == 0
    assert resolve(NAME, tpcc).name == NAME
    assert subject_of(NAME, tpcc, untuned).name == NAME
    with pytest.raises(UnknownPolicyError, match=f"did you mean {NAME}"):
        subject_of(NAME.replace("4", "5"), tpcc, untuned)


def test_a_search_starts_from_the_nearest_tables(elsewhere: ModuleType, tpcc: Signature) -> None:
    for warehouses, backoff_us in ((1, 0.5), (2, 1.0), (8, 2.0), (48, 8.0)):
        write_table(Path("table.json"), backoff_us=backoff_us)
        document = json.loads(Path("table.json").read_text())
        document["provenance"]["workload"]["warehouses"] = str(warehouses)
        Path(f"library/w{warehouses}.json").write_text(json.dumps(document))
    search = EvolutionConfig(name="evolution", generations=1, start=["library", "good.json", "w1"])
    config = settings(
        1,
        search=search,
        workload=DEFAULTS | {"warehouses": "2"},
        machine=MachineConfig("virtual", 3),
    )
    found = start_tables([config], Encoding(tpcc))
    assert [one.origin for one in found] == ["w2", "w1", "w8", "good.json"]
    search.start = ["absent.json"]
    with pytest.raises(PolicyFileError, match=r"search\.start: absent\.json"):
        start_tables([config], Encoding(tpcc))


def test_a_search_starts_from_the_best_table_of_each_place(
    elsewhere: ModuleType, tpcc: Signature
) -> None:
    """Otherwise tables of one place would displace those of others."""
    for name, backoff_us, score in (
        ("old", 0.5, 1.2),
        ("new", 1.0, 1.5),
        ("unknown", 2.0, None),
        ("damaged", 4.0, "much"),
    ):
        write_table(Path("table.json"), backoff_us=backoff_us)
        document = json.loads(Path("table.json").read_text())
        if score is not None:
            document["provenance"]["scores"] = {"silo": 2.0, "occ": score}
        Path(f"library/{name}.json").write_text(json.dumps(document))
    write_table(Path("library/far.json"), backoff_us=8.0)
    document = json.loads(Path("library/far.json").read_text())
    document["provenance"]["machine"]["cores"] = 48
    Path("library/far.json").write_text(json.dumps(document))
    search = EvolutionConfig(name="evolution", generations=1, start=["library"])
    config = settings(1, search=search, machine=MachineConfig("virtual", 3))
    found = start_tables([config], Encoding(tpcc))
    assert [one.origin for one in found] == ["new", "far"]


def test_adding_a_table_measures_the_nearest_ones(elsewhere: ModuleType) -> None:
    assert add("good.json", "workload.warehouses=8").exit_code == 0
    mate = NAME.replace("4", "8")
    # The same table is not measured twice.
    done = add("good.json")
    assert done.exit_code == 0, done.output
    assert mate not in done.output
    write_table(Path("worse.json"), backoff_us=8.0)
    done = add("worse.json", "workload.warehouses=2", "baselines=[silo,occ]")
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    assert "is faster there; start a search from it with 'search.start=[tpcc_" in words
    added = json.loads(Path(f"library/{NAME.replace('4', '2')}.json").read_text())
    assert set(added["provenance"]["scores"]) <= set(added["provenance"]["library"]["lowest"])
    assert mate not in added["provenance"]["scores"]


def test_starting_tables_keep_schedules_where_they_are_searched(
    elsewhere: ModuleType, tpcc: Signature
) -> None:
    save(replace(build_seed("ic3", tpcc), schedule={"policy": "smf"}), "smf.json")
    search = EvolutionConfig(name="evolution", start=["smf.json"])
    config = settings(1, search=search)
    (plain,) = start_tables([config], Encoding(tpcc))
    assert Encoding(tpcc).decode(plain.vector, "x").schedule is None
    both = Encoding(tpcc, scheduled=True)
    (scheduled,) = start_tables([config], both)
    assert both.decode(scheduled.vector, "x").schedule is not None
    save(replace(build_seed("ic3", tpcc), schedule={"policy": "smf", "k": 4}), "smf.json")
    with pytest.raises(PolicyFileError, match=r"search\.start: smf\.json: .*schedule\.k is 4"):
        start_tables([config], both)


@pytest.mark.parametrize(
    ("changed", "cores", "name"),
    [
        ({}, 48, "tpcc_1_warehouse_48_virtual_cores"),
        ({"warehouses": "16", "mix": "full"}, 1, "tpcc_mix_full_16_warehouses_1_virtual_core"),
    ],
)
def test_tables_are_named_after_workload_and_cores(
    changed: dict[str, str], cores: int, name: str
) -> None:
    assert entry_name(DEFAULTS | changed, DEFAULTS, cores) == name


def test_one_of_a_noun_is_singular() -> None:
    workload = {"name": "tpcb", "branches": "1"}
    assert entry_name(workload, workload, 2) == "tpcb_1_branch_2_virtual_cores"


def test_real_numbers_are_valid_in_names() -> None:
    workload = {"name": "ycsb", "theta": "0.99", "read": "50"}
    assert entry_name(workload, workload, 16) == "ycsb_theta_0_99_16_virtual_cores"


def test_a_table_is_measured_again_with_the_recorded_settings(elsewhere: ModuleType) -> None:
    """The report of `verify` on a changed table must not affect its measurement."""
    typed = ["baselines=[silo]", "run.repeats=7", "machine.costs.transfer_ns=99"]
    done = run("policy", "add", "good.json", *typed, "--name", "mine", "--folder", ".")
    assert done.exit_code == 0, done.output
    first = read_entry(Path("mine.json")).measurement
    again = run("policy", "add", "mine.json", "--name", "mine", "--folder", ".", "--replace")
    assert again.exit_code == 0, again.output
    assert read_entry(Path("mine.json")).measurement == first
    assert (first.run.repeats, first.machine["transfer_ns"]) == (7, "99.0")


def test_adding_a_table_uses_inputs_not_seen_in_training(
    elsewhere: ModuleType,
) -> None:
    """The inputs of seed 4 begin at four strides."""
    document = json.loads(Path("good.json").read_text())
    document["provenance"]["seed"] = 4
    Path("good.json").write_text(json.dumps(document))
    done = run("policy", "add", "good.json", "--name", "mine", "--folder", ".")
    assert done.exit_code == 0, done.output
    assert read_entry(Path("mine.json")).measurement.seed == (4 + FRESH) * SEED_STRIDE


def test_a_table_of_the_greatest_seed_can_be_read(elsewhere: ModuleType) -> None:
    document = json.loads(Path("good.json").read_text())
    document["provenance"]["seed"] = 10**12
    Path("good.json").write_text(json.dumps(document))
    assert add("good.json").exit_code == 0
    assert read_entry(Path(f"library/{NAME}.json")).measurement.seed == SEED_MAX < 2**63
    assert run("policy", "list").exit_code == 0


def test_tables_that_could_not_be_read_back_are_not_measured(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer.policy_library.measuring.CORES_MAX", 2)
    monkeypatch.setattr("trainer.command.policy_library.measure_scores", None)
    done = add("good.json")
    assert done.exit_code == 2, done.output
    assert "good.json: can't be recorded: " in done.output
    assert "cores is 3" in done.output
    assert not list(Path("library").iterdir())


@pytest.mark.parametrize(
    ("seed", "score"), [(10**19, 2.0), (float("inf"), 2.0), ("many", 2.0), (1, 10**400)]
)
def test_an_unreadable_table_is_reported_and_others_are_listed(
    elsewhere: ModuleType, seed: object, score: float
) -> None:
    assert add("good.json").exit_code == 0
    document = json.loads(Path(f"library/{NAME}.json").read_text())
    document["provenance"]["library"]["measured"]["seed"] = seed
    document["provenance"]["scores"]["occ"] = score
    Path("library/another.json").write_text(json.dumps(document))
    listed = run("policy", "list")
    assert listed.exit_code == 1, listed.output
    assert NAME in listed.stdout
    assert "another" not in listed.stdout
    assert "another.json" in listed.stderr
    assert len(listed.stderr.splitlines()) == 1


def test_names_in_files_are_shown_literally_and_results_are_kept(elsewhere: ModuleType) -> None:
    assert add("good.json").exit_code == 0
    path = Path(f"library/{NAME}.json")
    document = json.loads(path.read_text())
    scores = document["provenance"]["scores"]
    scores["[/x]"] = 1.01  # the shortest, and so the best baseline
    path.write_text(json.dumps(document))
    listed = run("policy", "list")
    assert listed.exit_code == 0, listed.output
    assert "1.01 ([/x])" in listed.stdout
    path.rename("library/[old].json")
    done = run("policy", "verify", "library/[old].json", "--json", "out.json")
    assert done.exit_code == 0, done.output
    assert "[old]" in done.stdout
    (found,) = json.loads(Path("out.json").read_text())["tables"]
    assert found["recorded"]["[/x]"] == 1.01


def test_results_are_written_before_they_are_shown(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert add("good.json").exit_code == 0

    def fails(table: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trainer.command.policy_library.print_table", fails)
    assert run("policy", "verify", "--json", "out.json").exit_code == 130
    assert json.loads(Path("out.json").read_text())["tables"]


MADE_WITH = """
workload: {name: tpcc, warehouses: 2}
machine: {kind: virtual, cores: 4}
search: {name: evolution, parents: 5}
baselines: [silo, occ]
run: {repeats: 3}
seed: 6
"""


def run_of_another_day(tmp_path: Path) -> None:
    """Return a run with former default settings, except for `search.parents`."""
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copy("good.json", folder / "policy.json")
    typed = ["machine=virtual", "machine.cores=4", "workload.warehouses=2", "search.parents=5"]
    (folder / "overrides.json").write_text(json.dumps(typed))
    (folder / "config.yaml").write_text(MADE_WITH)


@pytest.mark.parametrize(
    ("typed", "warehouses", "repeats", "seed"),
    [
        ([], "2", 3, 6),
        # A present default counts as well if it is typed.
        (["run.repeats=5"], "2", 5, 6),
        (["workload=tpcc", "seed=8"], "2", 3, 8),
        (["workload.warehouses=8"], "8", 3, 6),
    ],
)
def test_a_run_is_added_with_its_saved_settings(
    elsewhere: ModuleType,
    tmp_path: Path,
    typed: list[str],
    warehouses: str,
    repeats: int,
    seed: int,
) -> None:
    """Present defaults do not apply, but settings typed in addition do."""
    run_of_another_day(tmp_path)
    done = add("run", *typed)
    assert done.exit_code == 0, done.output
    (path,) = Path("library").iterdir()
    found = read_entry(path).measurement
    assert found.workload["warehouses"] == warehouses
    assert (found.cores, found.baselines) == (4, ["silo", "occ"])
    assert (found.run.repeats, found.seed) == (repeats, (seed + FRESH) * SEED_STRIDE)


def test_an_experiment_typed_for_a_run_counts(elsewhere: ModuleType, tmp_path: Path) -> None:
    run_of_another_day(tmp_path)
    done = add("run", "+experiment=null", "run.repeats=4")
    assert done.exit_code == 0, done.output
    (path,) = Path("library").iterdir()
    assert read_entry(path).measurement.run.repeats == 4


@pytest.mark.parametrize("stem", ["no-digest", "ic3", "library"])
def test_the_remedy_for_a_damaged_record_can_be_typed(elsewhere: ModuleType, stem: str) -> None:
    """Even if its file's name is not allowed for tables."""
    assert add("good.json").exit_code == 0
    document = json.loads(Path(f"library/{NAME}.json").read_text())
    Path(f"library/{NAME}.json").unlink()
    path = Path(f"{stem}.json")
    del document["provenance"]["library"]["digest"]
    path.write_text(json.dumps(document))
    cure = f"heddle policy add {path} --folder ."
    assert f"{cure} measures it" in run("policy", "verify", f"./{path}").output
    cured = run(*cure.split()[1:])
    assert cured.exit_code == 0, cured.output
    assert f"added: {NAME}.json" in cured.output


def test_the_remedy_for_a_changed_table_can_be_typed(elsewhere: ModuleType) -> None:
    """Its record is readable, but the table cannot keep its name."""
    assert add("good.json").exit_code == 0
    path = Path(f"library/{NAME}.json").rename("a-table.json")
    document = json.loads(path.read_text())
    document["provenance"]["library"]["digest"] = "another"
    path.write_text(json.dumps(document))
    cure = adding(path)
    assert cure in run("policy", "verify", str(path)).output
    cured = run(*cure.split()[1:])
    assert cured.exit_code == 0, cured.output
    assert Path(f"{NAME}.json").exists()
