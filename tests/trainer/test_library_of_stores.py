"""Policies for external stores in the library, on a stand-in for the engine and its stores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

import heddle_client
from envs import subject_of, untuned
from policies import Encoding, PolicyFileError, Signature, build_seed, load, save, shipped
from policies.document import PolicyDocument
from policies.policy_digest import policy_digest
from tests.trainer.fake_run import settings
from trainer.command.machine_warnings import any_takes_turns
from trainer.command.main import heddle
from trainer.config import MachineConfig
from trainer.policy_library.entry import read_entry
from trainer.policy_library.naming import entry_name
from trainer.policy_library.start import nearest_entries, start_tables
from trainer.policy_registry import tags_of
from trainer.search.evolution import EvolutionConfig

NAME = "tpcc_4_warehouses_8_connections_sqlite"
LACKED = "rocksdb"
CURE = f"store {LACKED}: this build lacks it; install it (Debian: apt-get install librocksdb-dev)"
WORKLOAD = {"name": "tpcc", "warehouses": "4", "mix": "read_write"}


def run(*words: str) -> Result:
    return CliRunner().invoke(heddle, list(words))


def add(*words: str) -> Result:
    return run("policy", "add", *words, "--folder", "library")


def words_of(result: Result) -> str:
    """Return the output on one line, because a terminal breaks it anywhere."""
    return " ".join(result.output.split())


def policy(tpcc: Signature, warehouses: str = "4", **options: str) -> PolicyDocument:
    """Return a policy for a store, with the provenance of a training in front of it."""
    return replace(
        build_seed("occ", tpcc),
        protocol={"name": "external", "options": {"store": "sqlite", **options}},
        provenance={
            "search": "guided",
            "workload": {**WORKLOAD, "warehouses": warehouses},
            "machine": {"kind": "threads", "cores": 8, "real_cores": 2},
        },
    )


def relative(options: Mapping[str, str]) -> float:
    """Return the throughput of a store: groups are best, and few transactions at a time."""
    found = 3.0 if options.get("merge", "1") != "1" else 1.0
    found *= 1.2 if options.get("concurrency") == "4" else 1.0
    return found * (2.0 if options.get("isolation") == "read_committed" else 1.0)


@pytest.fixture
def stores(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tpcc: Signature
) -> ModuleType:
    """Provide stores in the stand-in, of which one is not built, and an empty library."""
    in_engine = fake_engine.Session.run
    signature_only = fake_engine.Policy

    def check(name: str, options: Mapping[str, str], signature: object = None) -> None:
        if options.get("store") == LACKED:
            raise ValueError(CURE)

    class Policy(signature_only):  # type: ignore[misc, valid-type]
        def __init__(self, text: str, signature: Mapping[str, Any]) -> None:
            super().__init__(text, signature)
            section = self.document.get("protocol")
            try:
                check("", {} if section is None else section["options"])
            except ValueError as error:
                raise fake_engine.PolicyError(str(error)) from None

    def run_in_store(self: Any, options: Any, **named: Any) -> Any:
        if options.protocol != "external":
            return in_engine(self, options, **named)
        if self.machine["kind"] == "virtual":
            raise fake_engine.EngineError("waits for a database; use machine=threads")
        rate = 1000.0 * relative(options.protocol_options)
        return self._result("external", "", rate, options.seconds, options.seed)

    monkeypatch.setattr(fake_engine, "check_protocol", check)
    monkeypatch.setattr(fake_engine, "Policy", Policy)
    monkeypatch.setattr(fake_engine.Session, "run", run_in_store)
    known = [*fake_engine.protocols(), "external"]
    monkeypatch.setattr(fake_engine, "protocols", lambda: known)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "library").mkdir()
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "library")
    save(policy(tpcc, merge="8"), "good.json")
    return fake_engine


def added(name: str = NAME) -> dict[str, Any]:
    """Return the provenance of a policy of the library."""
    found: dict[str, Any] = json.loads(Path(f"library/{name}.json").read_text())["provenance"]
    return found


def test_a_policy_is_compared_in_its_store(stores: ModuleType) -> None:
    done = add("good.json")
    assert done.exit_code == 0, done.output
    assert "external_tuned: 4 at a time" in done.output
    found = added()
    assert found["scores"] == {"external": 3.0, "external_tuned": 2.5}
    assert found["machine"]["kind"] == "threads"
    assert found["machine"]["cores"] == 8
    record = found["library"]
    assert record["measured"]["store"] == {"store": "sqlite", "durability": "full"}
    assert record["measured"]["baselines"] == ["external", "external_tuned"]
    assert record["measured"]["run"]["seconds"] == 2.0  # of timing=store
    assert record["isolation"] == "serializable"
    assert record["host"]["processor"]
    assert record["real_cores"] == found["machine"]["real_cores"]
    assert not read_entry(Path(f"library/{NAME}.json")).changed


def test_the_list_says_where_the_scores_are_from(stores: ModuleType, tpcc: Signature) -> None:
    assert add("good.json").exit_code == 0
    found = added()
    found["library"]["busy"] = 0.6
    path = Path(f"library/{NAME}.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"provenance": found}))
    listed = run("policy", "list")
    assert listed.exit_code == 0, listed.output
    assert "virtual cores" not in listed.output
    assert "silo" not in listed.output
    assert "2.50 (external_tuned)" in listed.output
    assert "sqlite, durability full, isolation serializable" in listed.output
    assert f"measured {found['library']['date'][:10]} on threads, 8 " in listed.output
    assert found["library"]["host"]["processor"] in listed.output
    assert "other programs used 0.6 cores" in listed.output
    (read,) = json.loads(run("policy", "list", "--format", "json").stdout)["tables"]
    assert (read["machine"], read["cores"], read["isolation"]) == ("threads", 8, "serializable")
    assert read["store"] == {"store": "sqlite", "durability": "full"}


def test_tables_of_the_engine_have_a_list_of_their_own(stores: ModuleType, tpcc: Signature) -> None:
    assert add("good.json").exit_code == 0
    table = build_seed("occ", tpcc)
    place = {"workload": WORKLOAD, "machine": {"kind": "virtual", "cores": 3}}
    fast = [
        replace(row, write_visibility="PUBLIC")
        if row.write_visibility and row.state % 2 == 0
        else row
        for row in table.cc
    ]
    backoff = {
        name: replace(row, initial_us=4.0, abort=(0.0, 0.0, 0.0), commit=(0.0, 0.0, 0.0))
        for name, row in table.backoff.items()
    }
    save(replace(table, cc=tuple(fast), backoff=backoff, provenance=place), "table.json")
    assert add("table.json").exit_code == 0
    lines = run("policy", "list").output.splitlines()
    heads = [at for at, line in enumerate(lines) if "× the best baseline" in line]
    assert len(heads) == 2
    assert "virtual cores" in lines[heads[0]]
    assert "policy in front of a store" in lines[heads[1]]


def test_the_place_of_a_database_is_not_added(stores: ModuleType, tpcc: Signature) -> None:
    save(policy(tpcc, merge="8", folder="/data/here", sync_us="1000"), "there.json")
    assert add("there.json").exit_code == 0
    name = f"{NAME}_sync_us_1000"
    assert "/data/here" not in Path(f"library/{name}.json").read_text()
    assert added(name)["library"]["measured"]["store"]["sync_us"] == "1000"
    again = add(f"library/{name}.json", "--replace")
    assert again.exit_code == 0, again.output


def test_a_policy_no_better_than_the_tuned_store_is_not_added(
    stores: ModuleType, tpcc: Signature
) -> None:
    save(policy(tpcc, concurrency="4"), "same.json")
    done = add("same.json")
    assert done.exit_code == 1
    assert "not added: external_tuned was as fast" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("machine=virtual",), "waits for a database, which would stop all virtual cores; set"),
        (("baselines=[silo,external_tuned]",), "silo run in the engine"),
        (
            ("baselines=['external:durability=off']",),
            "external:durability=off has another durability than the policy, which is measured "
            "with durability=full; leave durability= out",
        ),
        (
            ("baselines=['external:isolation=read_committed']",),
            "external:isolation=read_committed runs at isolation=read_committed, and the policy at "
            "isolation=serializable; leave isolation= out of the baseline, or add locks=hints",
        ),
        (
            ("search.protocols=['external:locks=off:locks=off']",),
            "good.json: search.protocols: external: the option locks occurs twice",
        ),
        (
            ("search.protocols=['external:store=postgresql']",),
            "is for sqlite, and search.protocols names postgresql; set "
            "search.protocols=['external:store=sqlite'], or name another policy",
        ),
    ],
)
def test_an_unequal_comparison_is_refused(
    stores: ModuleType, words: tuple[str, ...], message: str
) -> None:
    done = add("good.json", *words)
    assert done.exit_code == 2, done.output
    assert message in words_of(done)
    assert not list(Path("library").iterdir())


def test_baselines_have_the_options_of_the_store(stores: ModuleType, tpcc: Signature) -> None:
    save(policy(tpcc, merge="8", durability="normal"), "normal.json")
    typed = "baselines=['external:durability=normal:merge=1','external:locks=hints+smf']"
    done = add("normal.json", typed)
    assert done.exit_code == 0, done.output
    assert "tune" not in done.output  # there is no external_tuned to find
    assert added(f"{NAME}_durability_normal")["scores"].keys() == {
        "external:merge=1",
        "external:locks=hints+smf",
    }


def test_a_weaker_isolation_is_compared_at_that_level(stores: ModuleType, tpcc: Signature) -> None:
    """Otherwise it would beat the baselines by what it does not guarantee."""
    weaker = {"store": "postgresql", "isolation": "read_committed"}
    save(policy(tpcc, **weaker), "weaker.json")
    assert add("weaker.json", "baselines=[external]").exit_code == 1
    save(policy(tpcc, **weaker, merge="8"), "weaker.json")
    assert add("weaker.json").exit_code == 0
    name = "tpcc_4_warehouses_8_connections_postgresql_isolation_read_committed"
    assert added(name)["library"]["isolation"] == "read_committed"
    save(policy(tpcc, **weaker, merge="8", locks="hints"), "locked.json")
    assert add("locked.json").exit_code == 0
    name = "tpcc_4_warehouses_8_connections_postgresql"
    assert added(name)["library"]["isolation"] == "serializable"


def test_verify_needs_no_equal_margin_in_a_store(
    stores: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The margin depends on the hardware, so only what loses to a baseline does not hold."""
    assert add("good.json").exit_code == 0
    monkeypatch.setitem(globals(), "relative", lambda options: 1.5 if "merge" in options else 1.0)
    verified = run("policy", "verify")
    assert verified.exit_code == 0, verified.output
    assert "holds" in verified.output
    strict = run("policy", "verify", "--tolerance", "0.1")
    assert strict.exit_code == 1
    assert "worse than recorded by 40.0%" in words_of(strict)
    monkeypatch.setitem(globals(), "relative", lambda options: 0.5 if "merge" in options else 1.0)
    lost = run("policy", "verify")
    assert lost.exit_code == 1
    assert "beats it" in lost.output


@pytest.fixture
def lacking(stores: ModuleType, tpcc: Signature) -> str:
    """Return the name of a policy in the library for a store that is not built."""
    assert add("good.json").exit_code == 0
    document = json.loads(Path(f"library/{NAME}.json").read_text())
    document["protocol"]["options"]["store"] = LACKED
    provenance = document["provenance"]
    provenance["library"]["measured"]["store"]["store"] = LACKED
    name = NAME.replace("sqlite", LACKED)
    path = Path(f"library/{name}.json")
    path.write_text(json.dumps(document))
    provenance["library"]["digest"] = policy_digest(load(path, check=False))
    path.write_text(json.dumps(document))
    return name


def test_a_build_without_the_store_lists_its_policies(lacking: str) -> None:
    listed = run("policy", "list")
    assert listed.exit_code == 0, listed.output
    assert lacking in listed.output


def test_a_build_without_the_store_says_what_to_install(lacking: str, tpcc: Signature) -> None:
    with pytest.raises(ValueError, match="apt-get install librocksdb-dev"):
        subject_of(lacking, tpcc, untuned)
    for words in (("show", lacking), ("add", f"library/{lacking}.json")):
        done = run("policy", *words)
        assert done.exit_code == 2
        assert CURE in words_of(done)
    done = run("policy", "verify", lacking, "--output", "verdicts.json")
    assert done.exit_code == 1
    (verdict,) = json.loads(Path("verdicts.json").read_text())["tables"]
    assert verdict["problem"].endswith(CURE)


def test_a_build_without_a_store_searches_from_the_library(lacking: str, tpcc: Signature) -> None:
    found = nearest_entries(WORKLOAD, 8, tpcc, {"store": "sqlite"})
    assert list(found) == [NAME]
    assert nearest_entries(WORKLOAD, 8, tpcc) == {}


def config(start: list[str]) -> Any:
    search = EvolutionConfig(name="evolution", generations=1, start=start)
    return settings(1, search=search, workload=WORKLOAD, machine=MachineConfig("threads", 8))


def test_a_search_starts_from_policies_of_its_store(stores: ModuleType, tpcc: Signature) -> None:
    for name, document in {
        "near": policy(tpcc, merge="8", folder="/data", sync_us="1000"),
        "far": policy(tpcc, merge="4", warehouses="48"),
        "other": policy(tpcc, store="postgresql", merge="16"),
        "weaker": policy(tpcc, isolation="read_committed", merge="16"),
        "table": replace(build_seed("ic3", tpcc), provenance={"workload": WORKLOAD}),
    }.items():
        save(document, f"library/{name}.json")
    encoding = Encoding(tpcc, protocols=("external:store=sqlite:durability=normal",))
    found = start_tables([config(["library"])], encoding)
    assert [candidate.origin for candidate in found] == ["near", "far"]
    protocol = encoding.decode(found[0].vector, "x").protocol
    assert protocol is not None
    assert protocol["options"] == {"store": "sqlite", "durability": "normal", "merge": "8"}
    in_engine = start_tables([config(["library"])], Encoding(tpcc))
    assert [candidate.origin for candidate in in_engine] == ["table"]


@pytest.mark.parametrize(
    ("protocols", "start", "message"),
    [
        (
            (),
            "good.json",
            r"is for sqlite, and search\.protocols names the engine; set "
            r"search\.protocols=\['external:store=sqlite'\], or name another policy",
        ),
        (
            ("external:store=postgresql",),
            "good.json",
            "is for sqlite, and .* names postgresql",
        ),
        (("external",), "ic3", "has no effect in front of a store"),
        (
            ("external:store=postgresql",),
            "weaker.json",
            "is for isolation=read_committed, and search.protocols for isolation=serializable; add "
            ":isolation=read_committed",
        ),
        (
            ("external:store=postgresql:locks=off",),
            "locked.json",
            "needs locks=hints at isolation=read_committed; leave locks= out",
        ),
    ],
)
def test_a_start_from_another_place_is_refused(
    stores: ModuleType, tpcc: Signature, protocols: tuple[str, ...], start: str, message: str
) -> None:
    weaker = {"store": "postgresql", "isolation": "read_committed"}
    save(policy(tpcc, **weaker), "weaker.json")
    save(policy(tpcc, **weaker, locks="hints"), "locked.json")
    with pytest.raises(PolicyFileError, match=rf"^search\.start: {start}: {message}"):
        start_tables([config([start])], Encoding(tpcc, protocols=protocols))


def test_the_nearest_policy_of_a_store_has_a_like_disk(stores: ModuleType, tpcc: Signature) -> None:
    for sync_us in ("100", "1000", "50000"):
        save(policy(tpcc, merge="8", sync_us=sync_us), f"library/disk_{sync_us}.json")
    save(policy(tpcc, merge="8"), "library/real_disk.json")
    found = nearest_entries(WORKLOAD, 8, tpcc, {"store": "sqlite", "sync_us": "2000"})
    assert list(found) == ["disk_1000", "real_disk", "disk_100"]
    found = nearest_entries(WORKLOAD, 8, tpcc, {"store": "sqlite", "durability": "full"})
    assert next(iter(found)) == "real_disk"


def test_adding_measures_other_policies_of_the_store(stores: ModuleType, tpcc: Signature) -> None:
    save(policy(tpcc, merge="8", concurrency="4"), "library/best.json")
    save(policy(tpcc, merge="8", store="postgresql"), "library/elsewhere.json")
    done = add("good.json")
    assert done.exit_code == 0, done.output
    assert "best is faster there" in words_of(done)
    assert "elsewhere" not in done.output
    assert "best" not in added()["scores"]


def test_names_tell_stores_apart() -> None:
    defaults = {**WORKLOAD, "warehouses": "1"}
    store = {"store": "sqlite", "durability": "full"}
    assert entry_name(WORKLOAD, defaults, 8, store) == NAME
    slow = {**store, "durability": "normal", "sync_us": "1000", "folder": "/data"}
    assert entry_name(WORKLOAD, defaults, 1, slow) == (
        "tpcc_4_warehouses_1_connection_sqlite_durability_normal_sync_us_1000"
    )


def test_a_policy_of_a_store_is_no_table_where_it_is_shown(stores: ModuleType) -> None:
    assert add("good.json").exit_code == 0
    shown = run("policy", "show", NAME)
    assert shown.exit_code == 0, shown.output
    assert "external; store sqlite; durability full; merge 8" in shown.output
    assert "Backoff" not in shown.output
    assert "have no effect in front of a store" in shown.output


def test_connections_take_no_turns(stores: ModuleType, tpcc: Signature) -> None:
    assert add("good.json").exit_code == 0
    assert not any_takes_turns([NAME, f"{NAME}+smf", "external", "good.json"])
    assert any_takes_turns([NAME, "silo"])
    assert any_takes_turns(["absent.json"])


def test_several_places_mark_where_a_policy_of_a_store_was_trained(
    stores: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert add("good.json").exit_code == 0
    monkeypatch.setattr("envs.host.usable_cores", lambda: 1)
    place = ["workload.warehouses=4", "machine.cores=4,8", "reference=external"]
    done = run("evaluate", f"policy=external,{NAME}", *place, "run.repeats=1", "output=matrix")
    assert done.exit_code == 0, done.output
    assert "take turns" not in done.output
    (row,) = (line for line in done.stdout.splitlines() if NAME in line and "3.00" in line)
    assert row.count("*") == 1
    assert row.index("*") > row.index("3.00 (100%)")


def test_a_registered_version_names_its_store(stores: ModuleType, tpcc: Signature) -> None:
    tags = tags_of(policy(tpcc, merge="8", durability="off", folder="/data"))
    assert tags["heddle.store"] == "external:store=sqlite:durability=off"
    assert "heddle.store" not in tags_of(build_seed("occ", tpcc))


def test_a_record_without_hardware_is_reported(stores: ModuleType) -> None:
    assert add("good.json").exit_code == 0
    path = Path(f"library/{NAME}.json")
    document = json.loads(path.read_text())
    del document["provenance"]["library"]["host"]
    path.write_text(json.dumps(document))
    listed = run("policy", "list")
    assert listed.exit_code == 1
    assert "library.host or library.real_cores is missing" in listed.stderr


def test_a_run_is_measured_in_front_of_its_store_or_with_another_durability(
    stores: ModuleType, tpcc: Signature
) -> None:
    Path("run").mkdir()
    save(policy(tpcc, merge="8"), "run/policy.json")
    typed = ["machine=threads", "machine.cores=8", "workload.warehouses=4", "timing=store"]
    typed += ["search.protocols=['external:store=sqlite']"]
    Path("run/overrides.json").write_text(json.dumps(typed))
    config = {
        "workload": WORKLOAD,
        "machine": {"kind": "threads", "cores": 8},
        "search": {"name": "evolution", "protocols": ["external:store=sqlite"]},
        "baselines": ["external:store=sqlite", "external_tuned"],
    }
    Path("run/config.yaml").write_text(json.dumps(config))
    done = add("run")
    assert done.exit_code == 0, done.output
    assert added()["scores"].keys() == {"external", "external_tuned"}
    done = add("run", "search.protocols=['external:durability=off']")
    assert done.exit_code == 0, done.output
    name = f"{NAME}_durability_off"
    assert added(name)["library"]["measured"]["store"]["durability"] == "off"
    document = json.loads(Path(f"library/{name}.json").read_text())
    assert document["protocol"]["options"]["durability"] == "off"


def test_the_client_library_reads_a_policy_of_the_library(
    stores: ModuleType, tpcc: Signature
) -> None:
    save(policy(tpcc, merge="8", locks="hints", concurrency="4"), "good.json")
    assert add("good.json").exit_code == 0
    found = heddle_client.Policy.read(f"library/{NAME}.json")
    assert (found.mode, found.concurrency, found.merge) == ("locks", 4, 8)
