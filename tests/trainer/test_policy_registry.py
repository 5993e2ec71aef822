"""Policies in MLflow's registry: registered, named, exported, promoted."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from policies import Encoding, PolicyDocument, Signature, build_seed, load, to_json
from policies.sources import add_source
from tests.trainer.test_command import QUICK
from trainer.command.main import heddle
from trainer.mlflow_store import MlflowStore
from trainer.policy_registry import (
    CANDIDATE,
    CHAMPION,
    DIGEST,
    POLICY,
    SIGNATURE,
    Reference,
    RegistryError,
    RegistryReader,
    refuse_bad_model,
    register_candidate,
    tags_of,
)

MODEL = "orders"


@pytest.fixture
def runs(
    fake_engine: ModuleType, empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Create `runs` in the working directory, with an empty store."""
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_REGISTRY_URI", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    yield Path(shutil.copytree(empty_store, tmp_path / "runs"))
    add_source("registry", lambda name: "")


@pytest.fixture
def client(runs: Path) -> Any:
    return MlflowStore(None, runs).connect()


def document(tpcc: Signature, seed: int = 1, **provenance: Any) -> PolicyDocument:
    return replace(build_seed(f"random:{seed}", tpcc), provenance=provenance)


def registered(client: Any, policy: PolicyDocument, model: str = MODEL) -> str:
    """Register a policy as a training does; returns its version."""
    found = client.get_experiment_by_name("e")
    place = Path("runs/mlartifacts").resolve().as_uri()
    experiment = found.experiment_id if found else client.create_experiment("e", place)
    run = client.create_run(experiment).info.run_id
    return register_candidate(client, model, policy, run).version


def aliases(client: Any) -> dict[str, int]:
    found = dict(client.get_registered_model(MODEL).aliases)
    return {name: int(version) for name, version in found.items()}


def heddle_(*typed: str) -> Result:
    return CliRunner().invoke(heddle, typed, catch_exceptions=False)


TRAIN = [*(one for one in QUICK if not one.startswith("mlflow")), "search.generations=1"]


@pytest.mark.slow
def test_a_training_registers_and_every_command_finds_it(runs: Path, client: Any) -> None:
    for seed in (1, 2):
        done = heddle_("train", *TRAIN, f"registered_model={MODEL}", f"seed={seed}")
        assert done.exit_code == 0, done.output
    assert "version 2 (candidate)" in done.output
    assert f"heddle policy promote registry:{MODEL}/2\n" in done.output
    assert aliases(client) == {CHAMPION: 1, CANDIDATE: 2}
    (folder,) = runs.glob("*seed2")
    learned = load(folder / "policy.json")
    version = client.get_model_version(MODEL, "2")
    assert version.tags == tags_of(learned)
    assert version.tags["heddle.workload"] == "tpcc warehouses=1 mix=read_write"
    assert version.tags["heddle.score.silo"] == str(learned.provenance["scores"]["silo"])
    assert version.run_id is not None

    shutil.rmtree(folder)  # the registry has its own copy
    assert heddle_("policy", "export", f"registry:{MODEL}@candidate", "out.json").exit_code == 0
    assert Path("out.json").read_text() == to_json(learned)
    done = heddle_("policy", "show", f"registry:{MODEL}/2", "--json")
    assert done.stdout == to_json(learned)
    done = heddle_("policy", "diff", f"registry:{MODEL}/2", "out.json")
    assert done.exit_code == 0
    name = f"registry:{MODEL}@champion"
    done = heddle_("evaluate", f"policy=silo,{name}", "run.seconds=0.01", "run.repeats=1")
    assert done.exit_code == 0, done.output
    assert name in done.output
    done = heddle_("train", *TRAIN, f"baselines=[silo,'{name}']", "seed=3")
    assert done.exit_code == 0, done.output
    assert name in done.output

    done = heddle_("policy", "promote", f"registry:{MODEL}@candidate")
    assert done.stdout == f"{MODEL}@champion: version 2, was 1\n"
    assert aliases(client) == {CHAMPION: 2, CANDIDATE: 2}
    done = heddle_("policy", "promote", f"registry:{MODEL}/2")
    assert done.stdout == f"{MODEL}@champion: version 2 already\n"


def test_a_version_stays_when_its_alias_moves(client: Any, runs: Path, tpcc: Signature) -> None:
    for seed in (1, 2):
        registered(client, document(tpcc, seed))
    typed = f"{MODEL}@{CHAMPION}"
    held = RegistryReader(MlflowStore(None, runs)).by_version(typed)
    assert held == f"{MODEL}/1"
    heddle_("policy", "promote", f"registry:{MODEL}/2")
    later = RegistryReader(MlflowStore(None, runs))
    assert later.by_version(typed) == f"{MODEL}/2"
    assert later.by_version(held) == held
    assert later.text(held) == to_json(document(tpcc, 1))
    with pytest.raises(RegistryError, match="no alias unknown"):
        later.by_version(f"{MODEL}@unknown")


def test_the_same_policy_is_registered_once(client: Any, tpcc: Signature) -> None:
    assert registered(client, document(tpcc)) == registered(client, document(tpcc)) == "1"
    assert registered(client, document(tpcc, seed=2)) == "2"
    assert aliases(client) == {CHAMPION: 1, CANDIDATE: 2}


def test_the_policy_of_a_run_is_registered_once(client: Any, tpcc: Signature) -> None:
    """A resumed run rewrites its file, with another date and possibly other scores."""
    first = document(tpcc, run="a", date="2026-03-01T09:00:00+00:00", scores={"silo": 1.5})
    again = document(tpcc, run="a", date="2026-03-02T09:00:00+00:00", scores={"silo": 1.4})
    assert registered(client, first) == registered(client, again) == "1"
    assert client.get_model_version(MODEL, "1").tags["heddle.score.silo"] == "1.5"
    assert registered(client, document(tpcc, seed=2, run="a")) == "2"
    assert registered(client, document(tpcc, run="b")) == "3"
    undated = document(tpcc, seed=3)
    assert registered(client, undated) == "4"
    assert registered(client, replace(undated, provenance={"seed": 1})) == "5", "of no known run"


@pytest.mark.slow
def test_a_baseline_of_the_registry_is_recorded(runs: Path, client: Any, tpcc: Signature) -> None:
    registered(client, document(tpcc))
    shutil.copy(next(runs.rglob("registered/*.json")), "mine.json")
    baselines = f"baselines=[silo,'registry:{MODEL}@champion',./mine.json]"
    done = heddle_("train", *TRAIN, f"registered_model={MODEL}", baselines)
    assert done.exit_code == 0, done.output
    assert "could not" not in done.output
    assert f"model:   {MODEL}, version 2 (candidate)" in done.output
    run = client.get_run(client.get_model_version(MODEL, "2").run_id)
    assert run.info.status == "FINISHED"
    scores = {name for name in run.data.metrics if name.startswith("score/")}
    assert scores == {"score/silo", f"score/registry:{MODEL}_champion", "score/mine.json"}
    assert "policy.json" in [file.path for file in client.list_artifacts(run.info.run_id)]


@pytest.mark.parametrize("by", ["runs_dir", "environment"])
@pytest.mark.slow
def test_the_printed_command_promotes_in_the_store_of_the_run(
    runs: Path, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    where, model = [], "my orders"
    if by == "runs_dir":
        store = MlflowStore(None, Path(shutil.move(runs, tmp_path / "its place")))
        where = [f"runs_dir='{store.folder}'"]
    else:
        store = MlflowStore(None, runs)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/other.db")
    for seed in (1, 2):
        done = heddle_("train", *TRAIN, f"registered_model={model}", f"seed={seed}", *where)
        assert done.exit_code == 0, done.output
    (typed,) = [line for line in done.output.splitlines() if line.startswith("promote:")]
    done = heddle_(*shlex.split(typed)[2:])
    assert done.stdout == f"{model}@champion: version 2, was 1\n"
    assert int(dict(store.connect().get_registered_model(model).aliases)[CHAMPION]) == 2


def test_a_removed_champion_is_not_replaced(client: Any, tpcc: Signature) -> None:
    registered(client, document(tpcc))
    client.delete_registered_model_alias(MODEL, CHAMPION)
    assert registered(client, document(tpcc, seed=2)) == "2"
    assert aliases(client) == {CANDIDATE: 2}


def test_tags_describe_a_policy(tpcc: Signature) -> None:
    tags = tags_of(
        document(
            tpcc,
            workload={"name": "tpcc", "warehouses": "4"},
            machine={"kind": "virtual", "cores": 48},
            scores={"silo": 1.5, "runs/../a b/policy.json": 1.25},
            scores_on_threads={"silo": 0.9},
            search="evolution",
        )
    )
    assert len(tags.pop(DIGEST)) == len(tags.pop(SIGNATURE)) == 32
    assert len(tags.pop(POLICY)) == 64
    assert tags == {
        "heddle.workload": "tpcc warehouses=4",
        "heddle.machine": "48 virtual cores",
        "heddle.search": "evolution",
        "heddle.score.silo": "1.5",
        "heddle.score.runs_.._a_b_policy.json": "1.25",
        "heddle.score_on_threads.silo": "0.9",
    }
    odd = document(tpcc, scores="odd", machine=3, workload=[])
    assert set(tags_of(odd)) == {DIGEST, POLICY, SIGNATURE}


def test_a_training_continues_if_registration_fails(
    runs: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: Any, **named: Any) -> Any:
        raise OSError("no space")

    monkeypatch.setattr(type(client), "create_model_version", refused)
    done = heddle_("train", *TRAIN, f"registered_model={MODEL}")
    assert done.exit_code == 0
    said = " ".join(done.stderr.split())
    assert f"could not register the policy as a version of {MODEL} (no space)" in said
    assert "model:" not in done.stdout


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("registered_model=a/b", "must have at most 100 letters"),
        ("registered_model=a@b", "must have at most 100 letters"),
        ('registered_model="a;b"', "must have at most 100 letters"),
        ("registered_model=..", "must have at most 100 letters"),
        ("registered_model=", "must not be empty"),
    ],
)
def test_a_name_that_cannot_be_typed_is_refused(runs: Path, typed: str, told: str) -> None:
    done = heddle_("train", *TRAIN, typed)
    assert done.exit_code == 2
    assert told in done.output


def test_a_registered_model_needs_a_record(runs: Path) -> None:
    done = heddle_("train", *TRAIN, "mlflow.enabled=false", f"registered_model={MODEL}")
    assert done.exit_code == 2
    assert "leave out mlflow.enabled=false" in done.output
    refuse_bad_model(MODEL)
    refuse_bad_model(None)


@pytest.mark.parametrize(
    ("typed", "reference"),
    [
        ("orders@champion", Reference("orders", alias="champion")),
        ("orders/3", Reference("orders", version="3")),
        ("a b@c", Reference("a b", alias="c")),
    ],
)
def test_a_version_is_named_by_alias_or_number(typed: str, reference: Reference) -> None:
    assert Reference.parse(typed) == reference
    assert str(reference) == f"registry:{typed}"


NOT_THERE = {
    "orders": "write registry:orders@champion, or a version's number",
    "": "write registry:NAME@champion",
    "orders/": "write registry:orders@champion",
    "orders@": "write registry:orders@champion",
    "orders/three": "names no version",
    "ordres@champion": "has no model ordres; there are: orders",
    "orders@champoin": "has no alias champoin; there are: candidate, champion",
    "orders/7": "has no version 7; there are: 1",
}


def test_missing_versions_are_reported(client: Any, tpcc: Signature) -> None:
    registered(client, document(tpcc))
    for name, told in NOT_THERE.items():
        done = heddle_("policy", "export", f"registry:{name}", "out.json")
        assert done.exit_code == 2
        assert told in done.output
        assert len(done.output.splitlines()) == 1
    assert not Path("out.json").exists()
    for typed in (["policy", "show"], ["policy", "promote"], ["policy", "validate"]):
        done = heddle_(*typed, "registry:orders/7")
        assert done.exit_code == 2
        assert "has no version 7" in done.output
    done = heddle_("evaluate", "policy=silo,registry:orders/7")
    assert done.exit_code == 2
    assert "has no version 7" in done.output


def test_a_missing_store_is_not_created(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(runs)
    done = heddle_("policy", "export", "registry:orders@champion", "out.json")
    assert done.exit_code == 2
    assert f"there is no MLflow store {runs}/mlflow.db" in done.output
    assert not runs.exists()
    done = heddle_("policy", "show", "registry:orders/1")
    assert done.exit_code == 2
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{runs.parent}/elsewhere.db")
    done = heddle_("policy", "show", "registry:orders/1")
    assert "elsewhere.db" in done.output


@pytest.mark.parametrize("content", [b"", b"no database" * 100], ids=["empty", "other"])
def test_a_file_that_is_not_a_store_is_reported_and_unchanged(runs: Path, content: bytes) -> None:
    other = runs / "other.db"
    other.write_bytes(content)
    done = heddle_("policy", "promote", "registry:orders@candidate", "--uri", f"sqlite:///{other}")
    assert done.exit_code == 2
    assert f"{other} is not an MLflow store; create one with heddle train" in done.output
    assert len(done.output.splitlines()) == 1
    assert other.read_bytes() == content


def test_a_store_that_does_not_answer(runs: Path) -> None:
    for uri in ("http://127.0.0.1:9", "nonsense://x"):
        done = heddle_("policy", "promote", "registry:orders@candidate", "--uri", uri)
        assert done.exit_code == 2
        assert "can't be reached" in done.output
        assert len(done.output.splitlines()) == 1


def test_a_different_store_is_named(
    client: Any, tpcc: Signature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(client, document(tpcc))
    uri = f"sqlite:///{tmp_path}/runs/mlflow.db"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert heddle_("policy", "export", "registry:orders/1", "a.json").exit_code == 2
    done = heddle_("policy", "export", "registry:orders/1", "a.json", "--uri", uri)
    assert done.exit_code == 0
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert heddle_("policy", "export", "registry:orders/1", "b.json").exit_code == 0
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()


def test_only_the_registry_is_exported(runs: Path) -> None:
    for command in (["export", "ic3", "out.json"], ["promote", "ic3"]):
        done = heddle_("policy", *command)
        assert done.exit_code == 2
        assert "is not in the registry" in done.output


def test_a_changed_or_missing_file_is_reported(client: Any, tpcc: Signature, runs: Path) -> None:
    registered(client, document(tpcc))
    (file,) = runs.rglob("registered/*.json")
    kept = file.read_text()
    vector = Encoding(tpcc).encode(document(tpcc))
    vector[0] = 1 - min(vector[0], 1)
    file.write_text(to_json(Encoding(tpcc).decode(vector, "random:1")))
    reader = RegistryReader(MlflowStore(None, runs))
    with pytest.raises(RegistryError, match="has changed since it was registered"):
        reader.text("orders/1")
    file.unlink()
    done = heddle_("policy", "show", "registry:orders/1")
    assert done.exit_code == 2
    assert "there is no such file" in done.output
    file.write_text(kept)
    assert heddle_("policy", "show", "registry:orders/1").exit_code == 0
