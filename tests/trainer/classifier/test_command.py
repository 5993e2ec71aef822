"""`heddle lab classify` from the command line, and commands that use its classifier."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policies.format import load, save
from policies.seeds import build_seed
from policies.signature import workload_signature
from trainer.checkpoint import FILE_NAME
from trainer.classifier.document import read_classifier
from trainer.command.main import heddle

from .conftest import WAREHOUSES

PLACE = [f"workload.warehouses={WAREHOUSES}"]
RUN = ["machine=virtual", "machine.cores=4", "run.seconds=0.002", "run.warmup=0", "run.repeats=1"]


def run(*words: str) -> Result:
    return CliRunner().invoke(heddle, list(words))


def classify(*words: str) -> Result:
    return run("lab", "classify", *PLACE, *words)


@pytest.fixture(scope="module")
def classifier(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("classifier") / "classifier.json"
    done = classify(f"trace={trace}", f"output={output}")
    assert done.exit_code == 0, done.output
    assert "new_order" in done.stdout
    assert f"{output}: " in done.stdout.splitlines()[-1]
    return output


@pytest.mark.slow
def test_a_file_has_its_provenance(classifier: Path, trace: Path) -> None:
    document = json.loads(classifier.read_text())
    assert document["workload"] == "tpcc"
    assert document["provenance"]["trace"] == str(trace)
    assert document["provenance"]["settings"]["hot"] == 0.01
    assert document["provenance"]["accuracy"]["payment"]["exact"] > 0.99


@pytest.mark.slow
def test_a_run_uses_a_classifier(classifier: Path, tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    words = [f"schedule.classifier={classifier}", "policy=silo+smf", f"output={output}"]
    done = run("evaluate", *PLACE, *RUN, *words)
    assert done.exit_code == 0, done.output
    wrong = run("evaluate", *PLACE, *RUN, *words, "schedule.wrong_hints=2")
    assert wrong.exit_code == 2
    assert "wrong_hints" in wrong.stderr


def test_a_policy_contains_its_classifier(trace: Path, tmp_path: Path) -> None:
    signature = workload_signature("tpcc", {})
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    save(build_seed("ic3", signature), before)
    done = classify(f"trace={trace}", f"policy={before}", f"output={after}", "transactions=2000")
    assert done.exit_code == 0, done.output
    policy = load(after, signature)
    assert policy.schedule is not None
    assert policy.schedule["policy"] == "smf"
    assert set(policy.schedule["classifier"]) == {"neighbours", "hot_keys", "types"}
    assert "accuracy" in policy.provenance["classifier"]
    evaluated = run("evaluate", *PLACE, *RUN, f"policy={after}")
    assert evaluated.exit_code == 0, evaluated.output
    shown = run("policy", "show", str(after))
    assert shown.exit_code == 0, shown.output


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["output=x.json"], "trace=: must name a folder"),
        (["trace={trace}"], "output=: must name a file"),
        (["trace={trace}/none", "output=x.json"], "there is no such folder"),
        (["trace={trace}", "output=none/x.json"], "output=none/x.json"),
        (["trace={trace}", "output=x.json", "hot=1.5"], "hot=1.5"),
        (["trace={trace}", "output=x.json", "hot=-1"], "hot=-1"),
        (["trace={trace}", "output=x.json", "neighbours=17"], "neighbours=17"),
        (["trace={trace}", "output=x.json", "clusters=0"], "clusters=0"),
        (["trace={trace}", "output=x.json", "validation=0.5"], "validation=0.5"),
        (["trace={trace}", "output=x.json", "transactions=50"], "a training needs at least 100"),
        (["trace={trace}", "output=x.json", "policy=none.json"], "none.json"),
        (["trace={trace}", "output=x.json", "workload=ycsb"], "not ycsb of ycsb"),
        (["trace={trace}", "output=x.json", "colour=red"], "colour"),
    ],
)
def test_bad_input_is_named(
    words: list[str], named: str, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = [] if "workload=ycsb" in words else PLACE
    done = run("lab", "classify", *place, *(word.format(trace=trace) for word in words))
    assert done.exit_code == 2, done.output
    assert named in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_trace_without_hints_is_reported(trace: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from traces.schema import TRANSACTION

    bare = tmp_path / "bare"
    shutil.copytree(trace, bare)
    (part,) = bare.glob("day=*/*.parquet")
    table = pq.read_table(part)
    column = table.schema.get_field_index("parameters")
    empty = [None] * len(table)
    field = TRANSACTION.field("parameters")
    import pyarrow as pa

    replaced = table.set_column(column, field, pa.array(empty, field.type))
    pq.write_table(replaced.replace_schema_metadata(table.schema.metadata), part)
    done = classify(f"trace={bare}", f"output={tmp_path / 'x.json'}")
    assert done.exit_code == 2
    assert "no transaction passes a hint" in done.stderr


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "is empty"),
        ("{", "classifier.json:1: not JSON"),
        ("[]", "not a classifier"),
        ('{"kind": "heddle.policy"}', "not a classifier"),
        ('{"kind": "heddle.classifier", "schema_version": 9}', "schema_version"),
        ('{"kind": "heddle.classifier", "schema_version": 1}', "has no field"),
        (
            '{"kind": "heddle.classifier", "schema_version": 1, "classifier": {"neighbours": 1}}',
            "hot_keys",
        ),
    ],
)
def test_a_run_refuses_an_invalid_classifier(text: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "classifier.json"
    path.write_text(text)
    done = run("evaluate", *PLACE, *RUN, "policy=silo+smf", f"schedule.classifier={path}")
    assert done.exit_code == 2, done.output
    assert named in done.stderr
    with pytest.raises(Exception, match=r"there is no such file"):
        read_classifier(tmp_path / "none.json")


TRAINING = [
    *PLACE,
    *("machine=virtual", "machine.cores=4", "search=random", "search.evaluations=4"),
    *("search.proposals=4", "search.actions=[schedule]", "evaluation.slice_seconds=0.001"),
    *("evaluation.warmup_seconds=0", "evaluation.backend=in_process", "evaluation.settled=null"),
    *("tuning.rounds=1", "tuning.slice_seconds=0.001", "tuning.final_rounds=1"),
    *("champion.finalists=1", "champion.rounds=1", "champion.slice_seconds=0.001"),
    *("run.seconds=0.001", "run.repeats=1", "validation.enabled=false", "mlflow.enabled=false"),
    "report.enabled=false",
    "forecast=false",
    "baselines=[silo]",
]


@pytest.mark.slow
def test_a_search_selects_from_several_classifiers(classifier: Path, tmp_path: Path) -> None:
    done = run("train", *TRAINING, f"runs_dir={tmp_path}", f"search.classifiers=[{classifier}]")
    assert done.exit_code == 0, done.output
    (folder,) = (one for one in tmp_path.iterdir() if one.is_dir())
    assert "search.classifiers" in (folder / FILE_NAME).read_text()
    # The run began with a different file.
    other = json.loads(classifier.read_text())
    other["classifier"]["neighbours"] = 2
    before = classifier.read_text()
    try:
        classifier.write_text(json.dumps(other))
        resumed = run("train", f"resume={folder}", "search.evaluations=8")
    finally:
        classifier.write_text(before)
    assert resumed.exit_code == 2, resumed.output
    assert "search.classifiers" in resumed.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (
            ["search.classifiers=[none.json]"],
            "search.classifiers: none.json: none.json: there is no such",
        ),
        (
            ["search.classifiers=[{classifier}]", "search.actions=[backoff]"],
            "add schedule to search.actions",
        ),
        (["search.classifiers=[{classifier}]", "workload=ycsb"], "ycsb has USERTABLE"),
    ],
)
def test_a_search_refuses_an_invalid_classifier(
    words: list[str], named: str, classifier: Path, tmp_path: Path
) -> None:
    training = [word for word in TRAINING if word not in PLACE]
    said = [word.format(classifier=classifier) for word in words]
    done = run("train", *training, f"runs_dir={tmp_path}", *said)
    assert done.exit_code == 2, done.output
    assert named in done.stderr
