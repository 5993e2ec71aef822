"""`heddle check` of policies whose isolation level is weaker than serializable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from envs import Subject
from envs.trial import Trial, run_trial
from envs.trial_plan import TrialPlan
from tests.envs.test_external import needs_mariadb, needs_postgresql, needs_sqlite
from trainer.command.check import check

SNAPSHOT = "mvto:isolation=snapshot"
COMMITTED = "mvto:isolation=read_committed"
SKEWED = "allow=[write_skew]"
ALL = "allow=[write_skew,read_skew,lost_update]"


def run(*settings: str) -> Result:
    return CliRunner().invoke(check, ["random=0", "machine.cores=6", *settings])


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_weaker_level_is_refused_unless_its_anomalies_are_allowed() -> None:
    done = run(f"policy=silo,{COMMITTED}", SKEWED)
    assert done.exit_code == 2
    assert done.output.strip().splitlines() == [
        f"error: policy={COMMITTED}: permits read_skew, lost_update; to check that nothing else "
        "happens, add allow=[write_skew,read_skew,lost_update]"
    ]


@pytest.mark.parametrize(("policy", "allow"), [(SNAPSHOT, SKEWED), (COMMITTED, ALL)])
def test_nothing_beyond_the_level_happens(policy: str, allow: str) -> None:
    done = run(f"policy={policy}", allow, "trials=9", "seconds=0.002")
    assert done.exit_code == 0, done.output
    level = policy.partition("=")[2]
    assert (
        f"no failures found\n{policy}: checked for {level}, which permits write_skew" in done.output
    )


def test_what_a_weaker_level_permits_happens_and_is_found_at_a_stronger_one() -> None:
    """Otherwise the levels could be equal, and the tests of them would show nothing."""
    for name, level in ((SNAPSHOT, "serializable"), (COMMITTED, "snapshot")):
        verdicts = [run_trial(trial(name, seed, level)) for seed in range(8)]
        assert any(verdict.findings for verdict in verdicts), name
        texts = [text for verdict in verdicts for text in verdict.findings]
        assert all(text.startswith("G") for text in texts), texts


def trial(name: str, seed: int, level: str) -> Trial:
    workload = {"name": "generic", "program": str(seed), "types": "4"}
    machine = {"kind": "virtual", "seed": str(seed)}
    subject = Subject(name, "mvto", options={"isolation": name.partition("=")[2]})
    return Trial(workload, 6, seed, machine, subject, 0.002, isolation=level)


def test_serializable_policies_are_checked_in_full() -> None:
    plan = TrialPlan(
        workload={"name": "generic"},
        machine={"kind": "virtual"},
        cores=2,
        policies=["silo", SNAPSHOT, "switching"],
        random=1,
        draw=True,
        schedules=["clock"],
        seconds=0.001,
        watchdog_s=0.02,
        seed=1,
        allow=["write_skew"],
    )
    levels = [plan.trial(number).isolation for number in range(4)]
    assert levels == ["serializable", "snapshot", "serializable", "serializable"]


def test_the_trial_keeps_its_level_and_older_trials_are_serializable() -> None:
    one = trial(SNAPSHOT, 1, "snapshot")
    assert Trial.from_json(one.to_json()) == one
    document = json.loads(one.to_json())
    del document["isolation"]
    assert Trial.from_json(json.dumps(document)).isolation == "serializable"
    document["isolation"] = "chaos"
    with pytest.raises(ValueError, match="isolation must be one of serializable, snapshot"):
        Trial.from_json(json.dumps(document))


def test_a_history_is_checked_at_a_level(tmp_path: Path) -> None:
    path = tmp_path / "history.parquet"
    for seed in range(8):
        if run_trial(trial(SNAPSHOT, seed, "serializable"), history=path).findings:
            break
    done = CliRunner().invoke(check, [f"history={path}"])
    assert done.exit_code == 1
    done = CliRunner().invoke(check, [f"history={path}", SKEWED])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == "snapshot"


@pytest.mark.parametrize("allow", ["allow=[lost_update]", "allow=[dirty_read]"])
def test_other_sets_are_refused(allow: str) -> None:
    done = run(f"policy={COMMITTED}", allow)
    assert done.exit_code == 2
    assert f"error: {allow}: must be one of [] (serializable)" in done.output


@pytest.mark.parametrize(
    ("level", "passes"), [("repeatable_read", True), ("read_committed", False)]
)
@needs_postgresql
@pytest.mark.slow
def test_repeatable_read_of_postgresql_is_snapshot_isolation(level: str, passes: bool) -> None:
    policy = f"policy=external:store=postgresql:durability=off:isolation={level}"
    done = run(policy, SKEWED, "machine=threads", "trials=2", "seconds=1", "shrink=false")
    assert (done.exit_code == 0) == passes, done.output


@needs_mariadb
@needs_sqlite
def test_lost_updates_of_a_store_are_not_allowed() -> None:
    """The order of its versions is not known then."""
    done = run("policy=external:store=mariadb:isolation=repeatable_read", ALL, "machine=threads")
    assert done.exit_code == 2
    assert "can't be checked; allow [write_skew] at most" in done.output
    assert run("policy=external:durability=off", ALL, "machine=threads", "trials=1").exit_code == 0


def test_other_settings_beside_a_file_are_refused() -> None:
    done = CliRunner().invoke(check, ["replay=a.json", "history=b.parquet"])
    assert done.exit_code == 2
    assert "history=: has no effect with replay=" in done.output
