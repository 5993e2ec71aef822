from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from envs import trial_pool
from envs.history import ENDS, History
from envs.history_formats import FORMATS
from envs.trial import Trial, Verdict, run_trial
from envs.trial_plan import TrialPlan
from envs.trial_pool import TrialPool
from tests.envs.test_external import needs_sqlite
from tests.scale import scaled
from tests.slow import some_slow
from traces.terminal import OutputError
from trainer.command import check as check_module
from trainer.command.check import EXPORTS, check
from trainer.command.main import heddle

PLAN = TrialPlan(
    workload={"name": "generic"},
    machine={"kind": "virtual"},
    cores=6,
    policies=["ic3"],
    random=2,
    draw=True,
    schedules=["clock", "priorities"],
    seconds=0.0005,
    watchdog_s=0.02,
    seed=9,
)


def run(*settings: str) -> Result:
    return CliRunner().invoke(check, list(settings))


def test_no_protocol_table_or_schedule_has_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trials = scaled(48)  # three rounds of all protocols and tables, one for each schedule
    done = run(f"trials={trials}", "seconds=0.002")
    print(done.output)  # the counts
    assert done.exit_code == 0, done.output
    assert f"{trials} trials" in done.output
    assert "no failures found" in done.output
    assert not (tmp_path / "counterexample").exists()


@needs_sqlite
def test_workers_of_an_external_store_take_no_turns(tmp_path: Path) -> None:
    done = run(
        "policy=external:durability=off",
        "random=0",
        "trials=1",
        "machine=threads",
        "machine.cores=64",
        "seconds=0.5",
        f"output={tmp_path / 'found'}",
    )
    assert done.exit_code == 0, done.output
    assert "take turns" not in done.output


@pytest.mark.parametrize(
    "workload",
    some_slow(
        ["tpcc", "tpce", "ycsb", "micro", "smallbank", "tpcb", "bomb", "epinions", "taobench"],
        ["micro", "tpce"],
    ),
)
def test_other_workloads_have_no_finding(
    workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = {
        "tpce": ["workload.customers=100", "workload.trade_days=1", "seconds=0.0005"],
        "ycsb": ["workload.records=2000"],
        "micro": ["workload.records=2000", "seconds=0.0003"],
        "smallbank": ["workload.accounts=1000", "seconds=0.0005"],
        "tpcb": ["workload.accounts=100", "seconds=0.0005"],
        "bomb": ["workload.materials=100", "workload.trees=50", "seconds=0.0005"],
        "epinions": ["workload.users=1000", "workload.items=500"],
        "taobench": ["workload.objects=1000"],
    }
    done = run(f"workload={workload}", f"trials={scaled(16)}", "jobs=1", *small.get(workload, []))
    print(done.output)
    assert done.exit_code == 0, done.output


def test_real_cores_have_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("machine=threads", "trials=8", "random=1", "seconds=0.1", "workload.pauses=16")
    print(done.output)
    assert done.exit_code == 0, done.output


class Fails:
    """A pool whose trials fail with more than three cores."""

    def __enter__(self) -> Fails:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def run_one(self, trial: Trial, *, history: Path | None = None) -> Verdict:
        return Verdict(("G0 (write cycle)\n",) if trial.cores > 3 else ())

    def run(self, trials):  # type: ignore[no-untyped-def]
        for number, trial in trials:
            yield number, trial, self.run_one(trial)


def test_a_failing_trial_is_shrunk_reported_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check_module, "TrialPool", lambda jobs: Fails())
    done = run("trials=50")
    assert done.exit_code == 1, done.output
    assert "G0 (write cycle)" in done.output
    assert "heddle check replay=counterexample/trial.json" in done.output
    trial = Trial.from_json((tmp_path / "counterexample/trial.json").read_text())
    assert trial.cores == 4
    assert trial.switches == ()


def test_a_lost_terminal_keeps_the_failing_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(table: object) -> None:
        raise OutputError("standard output can't be written: Input/output error")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check_module, "TrialPool", lambda jobs: Fails())
    monkeypatch.setattr(check_module, "print_table", lost)
    run("trials=50")
    assert (tmp_path / "counterexample/trial.json").exists()


def test_an_interrupt_while_shrinking_keeps_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check_module, "TrialPool", lambda jobs: Fails())
    monkeypatch.setattr(check_module, "shrink", interrupted)
    assert run("trials=50").exit_code == 1
    assert (tmp_path / "counterexample/trial.json").exists()


def test_findings_have_a_json_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check_module, "TrialPool", lambda jobs: Fails())
    done = run("trials=50", "--format", "json")
    assert done.exit_code == 1, done.output
    document = json.loads(done.stdout)
    assert document["failed"]["findings"] == ["G0 (write cycle)\n"]
    assert sum(row["trials"] for row in document["policies"]) >= 1
    assert "heddle check replay=counterexample/trial.json" in done.stderr
    refused = run("replay=counterexample/trial.json", "--format", "json")
    assert (refused.exit_code, refused.stdout) == (2, "")


TYPED = {
    "workload.ordered_keys": "20000",
    "workload.hash_keys": "7",
    "workload.churn": "80",
    "workload.types": "3",
    "workload.accesses": "4",
    "workload.rollbacks": "1",
    "workload.audits": "2",
    "workload.program": "12",
    "machine.depth": "9",
    "machine.steps": "123",
    "machine.delay_every": "7",
    "machine.seed": "5",
    "machine.rescue": "true",
    "machine.schedule": "priorities",
}


class Sees(Fails):
    """A pool that reports trials without running them."""

    trials: list[Trial]

    def run(self, trials):  # type: ignore[no-untyped-def]
        self.trials = [trial for _, trial in trials]
        return ((0, trial, Verdict((), {"transactions": 1})) for trial in self.trials)


def trials_of(monkeypatch: pytest.MonkeyPatch, *typed: str) -> list[Trial]:
    pool = Sees()
    monkeypatch.setattr(check_module, "TrialPool", lambda jobs: pool)
    done = run("trials=24", "policy=silo", *typed)
    assert done.exit_code == 0, done.output
    return pool.trials


def test_typed_settings_apply_to_every_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def values(*typed: str) -> dict[str, set[str]]:
        trials = trials_of(monkeypatch, *typed)
        found = [{"workload": one.workload, "machine": one.machine} for one in trials]
        split = {setting: setting.split(".") for setting in TYPED}
        return {name: {one[group][key] for one in found} for name, (group, key) in split.items()}

    together = values(*(f"{setting}={value}" for setting, value in TYPED.items()))
    assert together == {setting: {value} for setting, value in TYPED.items()}
    drawn = values()
    assert all(drawn[setting] != {value} for setting, value in TYPED.items())


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ((), {"0", "10"}),
        (("machine.costs.fetches=7",), {"7"}),
        (("machine/costs=two_core_xeon",), {"14"}),
        (("machine/costs=paper",), {"0"}),
    ],
)
def test_some_trials_prefetch_rows_unless_costs_are_typed(
    monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...], expected: set[str]
) -> None:
    trials = trials_of(monkeypatch, *typed)
    assert {one.machine["fetches"] for one in trials} == expected


def test_typed_default_values_apply_to_every_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = trials_of(monkeypatch, "workload.churn=0", "workload.ordered_keys=10")
    assert {one.workload["ordered_keys"] for one in trials} == {"10"}
    assert {one.workload["churn"] for one in trials} == {"0"}
    assert len({one.workload["types"] for one in trials}) > 1


def test_typed_churn_bounds_the_number_of_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials = trials_of(monkeypatch, "workload.churn=80")
    assert {one.workload["ordered_keys"] for one in trials} == {"1", "2"}


def test_settings_without_effect_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "trial.json"
    path.write_text(PLAN.trial(1).to_json())
    for typed in (
        (f"replay={path}", "workload.churn=80"),
        ("history=history.parquet", "seed=3"),
        ("machine.schedule=delays", "schedules=[clock]"),
    ):
        done = run(*typed)
        assert done.exit_code == 2, done.output
        assert "Traceback" not in done.output


@pytest.mark.slow
def test_a_repeated_trial_is_identical(tmp_path: Path) -> None:
    path = tmp_path / "trial.json"
    path.write_text(PLAN.trial(1).to_json())
    outputs = {run(f"replay={path}").output for _ in range(2)}
    assert len(outputs) == 1
    assert "no failures found" in outputs.pop()


@pytest.mark.slow
def test_a_killed_process_is_a_finding() -> None:
    with TrialPool(1) as pool:
        assert pool.run_one(PLAN.trial(0)).findings == ()
        for process in pool._slots[0].pool._processes.values():
            process.kill()
        found = pool.run_one(PLAN.trial(0)).findings
        assert found
        assert found[0].startswith("crashed")
        assert pool.run_one(PLAN.trial(0)).findings == ()


def test_a_hang_up_is_not_a_finding() -> None:
    """The hang-up signals every process of the command, and only the parent handles it."""
    with TrialPool(1) as pool:
        assert pool.run_one(PLAN.trial(0)).findings == ()
        for process in pool._slots[0].pool._processes.values():
            os.kill(process.pid, signal.SIGHUP)
        assert pool.run_one(PLAN.trial(0)).findings == ()


@pytest.mark.slow
def test_a_hanging_process_is_reported_while_others_continue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial_pool, "PATIENCE_S", 3.0)
    monkeypatch.setattr(trial_pool, "run_trial", time.sleep)
    naps = [600.0] + [0.25] * 30
    with TrialPool(2) as pool:
        ended = [number for number, _, _ in pool.run(enumerate(naps))]  # type: ignore[arg-type]
    assert sorted(ended) == list(range(len(naps)))
    assert ended.index(0) < len(naps) - 2


def test_unschedulable_policies_are_refused_in_one_line() -> None:
    done = run("policy=mvto+smf", "random=0", "trials=1")
    assert done.exit_code != 0
    assert "policy=mvto+smf" in done.output
    assert "hints" in done.output
    assert "Traceback" not in done.output


def test_a_history_is_checked_and_exported(tmp_path: Path) -> None:
    path = tmp_path / "history.parquet"
    run_trial(PLAN.trial(0), history=path)
    done = run(f"history={path}")
    assert done.exit_code == 0, done.output
    assert "serializable" in done.output
    output = tmp_path / "out.json"
    done = run("--export", "dbcop", f"history={path}", f"output={output}")
    assert done.exit_code == 0, done.output
    assert json.loads(output.read_text())["info"] == "heddle"


def changed(path: Path, **columns: object) -> History:
    """Return a recorded history with columns of its attempts replaced."""
    recorded = History.load(path)
    attempts = recorded.attempts.copy()
    for name, value in columns.items():
        attempts[name] = value
    return replace(recorded, attempts=attempts)


def exported(path: Path) -> Result:
    output = path.with_suffix(".json")
    done = run("--export", "dbcop", f"history={path}", f"output={output}")
    assert "Traceback" not in done.output
    assert output.exists() == (done.exit_code == 0)
    return done


def test_an_invalid_history_is_not_exported(tmp_path: Path) -> None:
    path = tmp_path / "history.parquet"
    run_trial(PLAN.trial(0), history=path)
    whole = History.load(path)
    none = replace(whole, attempts=whole.attempts[:0], operations=whole.operations[:0])
    alone = replace(
        changed(path, end=ENDS.index("aborted"), operations=0), operations=none.operations
    )
    for code, damaged, message in (
        (2, changed(path, worker=1 << 17), "contradicts itself: attempt 0: worker 131072"),
        (2, none, "there is nothing to check: it holds no attempt at a transaction"),
        (2, alone, "attempts, of which none committed or rolled back"),
        (1, changed(path, began=whole.attempts["ended"] + 1), "before it began"),
    ):
        damaged.save(path)
        found = run(f"history={path}")
        assert (found.exit_code, "serializable" in found.output) == (code, False), found.output
        assert message in found.output
        done = exported(path)
        assert done.exit_code == code, done.output
        assert message in done.output


def test_trials_without_transactions_are_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    none = Verdict((), {"transactions": 0, "aborted": 3})

    def end_none(pool: TrialPool, trials: Iterable[tuple[int, Trial]]) -> Iterator[object]:
        yield from ((number, trial, none) for number, trial in trials)

    monkeypatch.setattr(TrialPool, "run", end_none)
    monkeypatch.setattr(TrialPool, "run_one", lambda pool, trial: none)
    path = tmp_path / "trial.json"
    path.write_text(PLAN.trial(0).to_json())
    for words, why in (
        (["trials=1", "budget=1e-6"], "no trial began within budget="),
        (["trials=2", "policy=silo"], "no transaction ended in 2 trials"),
        ([f"replay={path}"], f"replay={path}: no transaction ended"),
    ):
        done = run(*words)
        assert done.exit_code == 1, done.output
        assert f"error: nothing was checked: {why}" in done.stderr
        assert "no failures found" not in done.output


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["trials=0"], "trials=0: must be at least 1"),
        (["trials=null"], "needs budget="),
        (["budget=-1"], "budget=-1.0: must be above 0"),
        (["schedules=[clok]"], "must be some of clock, delays, priorities"),
        (["schedules=[]"], "must be some of"),
        (["policy=[]", "random=0"], "there is nothing to check"),
        (["policy=silu"], "did you mean silo?"),
        (["policy=nothing.json"], "nothing.json"),
        (["replay=nothing.json"], "replay=nothing.json: can't be read"),
        (["history=nothing.parquet"], "history=nothing.parquet: there is no such file"),
        (["workload.program=-1"], "program"),
    ],
)
def test_mistakes_are_reported_in_one_message(
    settings: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*settings)
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert "Traceback" not in done.output


def test_files_that_are_not_trials_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "trial.json"
    for content in (b"", b"\xff\xfe", b"[1]", b'{"schema_version": 1, "cores": "x"}'):
        path.write_bytes(content)
        done = run(f"replay={path}")
        assert done.exit_code == 2, done.output
        assert str(path) in done.output


def test_every_format_can_be_exported() -> None:
    assert sorted(FORMATS) == list(EXPORTS)


@pytest.mark.parametrize("command", ["check", "timeline", "train", "evaluate"])
def test_each_example_has_one_line(command: str) -> None:
    text = CliRunner().invoke(heddle, [command, "--help"]).output
    assert "\n  Example" in text
    assert f"\n    heddle {command} " in text


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["output=out.json"], "--export: history= names no file"),
        (["history=some.parquet"], "--export: output= names no file"),
        (["history=some.parquet", "output=out.json", "seed=3"], "seed=: has no effect with"),
        (["history=some.parquet", "output=out.json", "--format", "json"], "--format json: has no"),
        (["history=some.parquet", "output=out.json"], "history=some.parquet: there is no such"),
    ],
)
def test_an_export_needs_a_history_and_a_file(
    typed: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("--export", "dbcop", *typed)
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert not list(tmp_path.iterdir())
