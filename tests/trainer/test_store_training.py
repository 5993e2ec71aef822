"""`heddle train` in front of an external store, on SQLite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from policies import load
from tests.envs.test_external import needs_sqlite
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle
from trainer.config import MachineConfig, TrainConfig
from trainer.search import SEARCHES
from trainer.store_training import check_store_training, refuse_store

BRIEF = (
    "workload=smallbank",
    "workload.accounts=100",
    "machine.cores=2",
    "search.protocols=['external:durability=off']",
    "search.seconds=null",
    "search.proposals=4",
    "search.elites=2",
    "evaluation.backend=in_process",
    "evaluation.slice_seconds=0.02",
    "evaluation.warmup_seconds=0.005",
    "evaluation.rungs=[1]",
    "tuning.slice_seconds=0.01",
    "tuning.warmup_seconds=0",
    "tuning.rounds=1",
    "tuning.finalists=2",
    "tuning.final_rounds=1",
    "champion.finalists=2",
    "champion.rounds=1",
    "champion.slice_seconds=0.02",
    "champion.warmup_seconds=0",
    "run.seconds=0.05",
    "run.repeats=1",
    "run.warmup=0",
    "verdict.repeats_max=1",
    "check.seconds=0.05",
    "mlflow.enabled=false",
)


@needs_sqlite
def test_it_learns_resumes_and_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("envs.host.usable_cores", lambda: 1)
    run = CliRunner()
    first = ["train", "experiment=sqlite", *BRIEF, "search.generations=1"]
    found = run.invoke(heddle, first)
    assert found.exit_code == 0, found.output
    assert "take turns" not in found.output  # workers of a store do not
    assert "external_tuned: 2 at a time" in found.output
    assert "external:durability=off" in found.stdout  # a baseline
    assert "external_tuned (2 at a time" in found.stdout
    assert "silo" not in found.stdout
    (folder,) = (path.parent for path in tmp_path.glob("runs/*/policy.json"))
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Tuned store" in page
    assert "the nearest seed" not in page  # a table has no effect there
    state = Checkpoint.load(folder)
    assert state.tuned[0].name == "external_tuned"
    assert state.stores[0]["durability"] == "off"
    assert state.checked  # by the checker, in the store

    again = run.invoke(heddle, ["train", f"resume={folder}", "search.generations=2"])
    assert again.exit_code == 0, again.output
    assert "tune external_tuned" not in again.output
    assert len(Checkpoint.load(folder).history) == 2

    policy = load(folder / "policy.json")
    assert policy.protocol is not None
    assert policy.protocol["name"] == "external"
    assert policy.protocol["options"]["durability"] == "off"
    assert policy.provenance["scores"].keys() == {"external:durability=off", "external_tuned"}
    measured = run.invoke(
        heddle,
        [
            "evaluate",
            f"policy=external:durability=off,{folder / 'policy.json'}",
            *BRIEF[:3],
            "run.seconds=0.05",
            "run.repeats=1",
            "output=found.json",
        ],
    )
    assert measured.exit_code == 0, measured.output
    assert "take turns" not in measured.output
    results = json.loads((tmp_path / "found.json").read_text())["results"]
    assert results[1]["options"] == policy.protocol["options"]

    shown = run.invoke(heddle, ["policy", "show", str(folder / "policy.json")])
    assert "external; durability off" in shown.output
    checked = run.invoke(
        heddle,
        [
            "check",
            f"policy={folder / 'policy.json'}",
            "random=0",
            "machine=threads",
            *BRIEF[:2],
            "trials=2",
            "seconds=0.05",
        ],
    )
    assert checked.exit_code == 0, checked.output
    assert "take turns" not in checked.output
    contest = run.invoke(heddle, ["lab", "searches", f"sweep={folder}"])
    assert contest.exit_code != 0
    assert "Traceback" not in contest.output


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["machine=virtual"], "set machine=threads"),
        (["baselines=[silo,external_tuned]"], "silo run in the engine"),
        (["baselines=[external_tuned:locks=hints]"], "only heddle evaluate has this name"),
        (["search.protocols=[external,mvto]"], "name it alone"),
        (
            ["search.protocols=[external,'external:locks=off:locks=off']"],
            "search.protocols: external:",
        ),
        (["search.protocols=['external:store=nothing']"], "nothing"),
        (
            ["search.protocols=['external:locks=off:locks=off']"],
            "search.protocols: external: the option locks",
        ),
        (["search.base=ic3"], "search.base: ic3 has no effect"),
        (["search.start=[ic3]"], "search.start: ic3: has no effect"),
    ],
)
def test_what_it_cannot_do_is_said_with_the_cure(settings: list[str], message: str) -> None:
    found = CliRunner().invoke(
        heddle, ["train", "experiment=sqlite", *BRIEF, "search.generations=1", *settings]
    )
    assert found.exit_code != 0
    assert message in found.output
    assert "Traceback" not in found.output


def test_a_night_is_for_the_engine() -> None:
    config = SEARCHES["guided"].config(name="guided", protocols=["external"])
    with pytest.raises(ValueError, match="heddle nightly trains for the engine"):
        refuse_store(config, "heddle nightly")
    refuse_store(SEARCHES["guided"].config(name="guided"), "heddle nightly")


def test_a_password_is_not_shown() -> None:
    typed = "external:store=postgresql:dsn=host=a password=b"
    config = SEARCHES["guided"].config(name="guided", protocols=[typed])
    with pytest.raises(ValueError, match=r"\[external:store=postgresql:dsn=\.\.\.\]") as refused:
        refuse_store(config, "heddle nightly")
    assert "password" not in str(refused.value)
    virtual = TrainConfig(search=config, machine=MachineConfig(kind="virtual"))
    with pytest.raises(ValueError, match=r"dsn=\.\.\.\] waits for a database") as refused:
        check_store_training(virtual, [])
    assert "password" not in str(refused.value)
