"""A session follows a file, first a stand-in and then the engine's under load."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import engine
from envs import (
    NATIVE,
    Evaluator,
    Event,
    Missing,
    PolicyWatcher,
    Refused,
    Reloaded,
    Report,
    Result,
    Subject,
    Switched,
    of_policy,
    serve,
)
from policies import Signature, build_seed, save, to_json, workload_signature
from tests.waiting import PATIENCE_S, wait_until

SMALL = {"name": "ycsb", "records": "200"}
QUICK_S = 0.01


def served(
    evaluator: Evaluator,
    watcher: PolicyWatcher,
    *,
    seed: int = 1,
    report_seconds: float = 0.05,
    seconds: float = 10 * PATIENCE_S,
    grown_bytes_max: int = 1 << 40,
) -> Iterator[Report | Reloaded]:
    """Return the events of a served workload that begins with Silo."""
    return serve(
        evaluator,
        watcher,
        NATIVE["silo"],
        seed=seed,
        report_seconds=report_seconds,
        seconds=seconds,
        grown_bytes_max=grown_bytes_max,
    )


def switched_to(events: list[Event]) -> list[str]:
    return [event.policy.name for event in events if isinstance(event, Switched)]


Publish = Callable[[str], None]


class Listening:
    """A session that accepts every policy while it runs."""

    def __init__(self) -> None:
        self.runs = True
        self.refuses = ""
        self.taken: list[str] = []

    def switch_policy(self, policy: Any) -> None:
        if not self.runs:
            raise ValueError("no policy is running: start a run with protocol policy_table")
        if self.refuses:
            raise ValueError(self.refuses)
        self.taken.append(policy.name)


@pytest.fixture(scope="module")
def ycsb() -> Signature:
    return workload_signature("ycsb")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "policy.json"


@pytest.fixture
def publish(path: Path, ycsb: Signature) -> Publish:
    """Publishes a policy with a name."""

    def put(name: str) -> None:
        save(replace(build_seed("ic3", ycsb), name=name), path)

    return put


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def session() -> Listening:
    return Listening()


@pytest.fixture
def watcher(path: Path, ycsb: Signature, session: Listening, events: list[Event]) -> PolicyWatcher:
    return PolicyWatcher(path, ycsb, session, events.append, interval_s=QUICK_S)


def test_each_policy_is_switched_to_automatically(
    watcher: PolicyWatcher,
    publish: Publish,
    session: Listening,
    events: list[Event],
) -> None:
    publish("one")
    with watcher:
        assert session.taken == ["one"]  # before the thread's first poll
        publish("two")
        wait_until(lambda: session.taken == ["one", "two"])
        wait_until(lambda: switched_to(events) == ["one", "two"])
    assert watcher.served is not None
    assert watcher.policy.name == watcher.served.name == "two"
    publish("three")
    assert "policy-watcher" not in {thread.name for thread in threading.enumerate()}
    assert session.taken == ["one", "two"]


def test_a_bad_file_leaves_the_policy_as_it_is(
    watcher: PolicyWatcher,
    publish: Publish,
    path: Path,
    session: Listening,
    events: list[Event],
) -> None:
    publish("one")
    watcher.poll()
    path.write_text("{")
    for _ in range(3):
        watcher.poll()
    path.unlink()
    for _ in range(3):
        watcher.poll()
    assert [type(event) for event in events] == [Switched, Refused, Missing]
    assert session.taken == ["one"]
    assert watcher.policy.name == "one"
    publish("two")
    watcher.poll()
    assert session.taken == ["one", "two"]


def test_a_policy_between_two_runs_is_offered_again(
    watcher: PolicyWatcher,
    publish: Publish,
    session: Listening,
    events: list[Event],
) -> None:
    session.runs = False
    publish("one")
    watcher.poll()
    watcher.poll()
    assert events == []
    assert watcher.policy.name == "one"  # the next run has it
    session.runs = True
    watcher.poll()
    watcher.poll()
    assert switched_to(events) == session.taken == ["one"]


def test_a_policy_refused_by_the_session_is_reported_and_not_kept(
    watcher: PolicyWatcher,
    publish: Publish,
    session: Listening,
    events: list[Event],
) -> None:
    publish("one")
    watcher.poll()
    session.refuses = "the policy is for another workload than the one running"
    publish("two")
    watcher.poll()
    watcher.poll()
    assert [type(event) for event in events] == [Switched, Refused]
    assert watcher.policy.name == "one"


def test_an_error_of_the_callback_does_not_end_the_thread(
    publish: Publish, path: Path, ycsb: Signature, session: Listening
) -> None:
    def fail(event: Event) -> None:
        raise OSError(f"no listener for {event}")

    publish("one")
    with PolicyWatcher(path, ycsb, session, fail, interval_s=QUICK_S):
        publish("two")
        wait_until(lambda: session.taken == ["one", "two"])


@pytest.mark.parametrize("interval_s", [0.0, -1.0, float("nan"), float("inf")])
def test_an_invalid_interval_is_reported(
    path: Path, ycsb: Signature, session: Listening, interval_s: float
) -> None:
    with pytest.raises(ValueError, match="interval_s"):
        PolicyWatcher(path, ycsb, session, interval_s=interval_s)


def test_virtual_cores_are_refused(
    publish: Publish, path: Path, ycsb: Signature, events: list[Event]
) -> None:
    evaluator = Evaluator(SMALL, 2, machine={"kind": "virtual"})
    publish("one")
    PolicyWatcher(path, ycsb, evaluator, events.append).poll()
    (refused,) = events
    assert isinstance(refused, Refused)
    assert "virtual cores" in refused.reason


def test_the_last_of_hundreds_of_replacements_under_load_is_in_use(
    publish: Publish, path: Path, ycsb: Signature, events: list[Event]
) -> None:
    """In one run of the engine's session, as in a user's program."""
    session = engine.Session(SMALL, 2)
    results: list[dict[str, Any]] = []
    publish("first")
    with PolicyWatcher(path, ycsb, session, events.append, interval_s=0.001) as watcher:

        def run() -> None:
            options = engine.RunOptions(
                protocol="policy_table",
                policy=watcher.policy,
                backoff="policy",
                seconds=10 * PATIENCE_S,
            )
            results.append(session.run(options))

        worker = threading.Thread(target=run)
        worker.start()
        try:
            wait_until(lambda: switched_to(events) == ["first"])
            texts = {
                seed: to_json(replace(build_seed(seed, ycsb), name=seed)) for seed in ("occ", "ic3")
            }
            beside = path.with_suffix(".new")
            for at in range(300):
                beside.write_text(texts["occ" if at % 2 else "ic3"])
                beside.replace(path)
            publish("last")
            wait_until(lambda: switched_to(events)[-1] == "last")
        finally:
            session.stop()
            worker.join(PATIENCE_S)
    assert not worker.is_alive()
    assert {type(event) for event in events} == {Switched}
    assert results[0]["commits"] > 0
    assert session.check() == []


@pytest.fixture
def evaluator() -> Iterator[Evaluator]:
    evaluator = Evaluator(SMALL, 2)
    yield evaluator
    evaluator.close()


def test_a_workload_is_served_from_the_fallback_to_the_published_policy(
    evaluator: Evaluator, publish: Publish, path: Path, ycsb: Signature, events: list[Event]
) -> None:
    reports: list[Report] = []
    with PolicyWatcher(path, ycsb, evaluator, events.append, interval_s=QUICK_S) as watcher:
        for told in served(evaluator, watcher):
            assert isinstance(told, Report)
            reports.append(told)
            if len(reports) == 2:
                publish("published")
            if "published" in switched_to(events) and told.policies == ["published"]:
                break
    assert [report.policies for report in reports[:2]] == [["silo"], ["silo"]]
    assert [type(event) for event in events] == [Missing, Switched]
    assert all(report.throughput > 0 and 0 <= report.abort_rate < 1 for report in reports)


def test_a_policy_that_cannot_run_is_replaced_by_the_previous_one(
    path: Path, events: list[Event]
) -> None:
    """A schedule for a workload without hints, which only a run detects."""
    workload = {"name": "generic"}
    signature = workload_signature("generic")
    table = build_seed("occ", signature)
    evaluator = Evaluator(workload, 2)
    watcher = PolicyWatcher(path, signature, evaluator, events.append)
    save(replace(table, name="good"), path)
    watcher.poll()
    save(replace(table, name="scheduled", schedule={"policy": "smf"}), path)
    watcher.poll()
    told = [each.policies for each in served(evaluator, watcher, seconds=0.1)]  # type: ignore[union-attr]
    evaluator.close()
    assert told == [["scheduled", "good"], ["good"]]
    refused = [event for event in events if isinstance(event, Refused)]
    assert len(refused) == 1
    assert "passes no hints" in refused[0].reason
    assert str(path) in refused[0].reason


def test_serving_ends_after_its_seconds_and_reports_all_of_them(
    evaluator: Evaluator, publish: Publish, path: Path, ycsb: Signature
) -> None:
    publish("one")
    watcher = PolicyWatcher(path, ycsb, evaluator)
    watcher.poll()
    told = list(served(evaluator, watcher, seconds=0.12))
    assert [each.policies for each in told if isinstance(each, Report)] == [["one"]] * 3


def test_a_policy_runs_under_its_own_backoff_on_inputs_of_every_runs_own(
    evaluator: Evaluator,
    publish: Publish,
    path: Path,
    ycsb: Signature,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: list[tuple[Subject, int]] = []
    measure = Evaluator.run

    def run(self: Evaluator, subject: Subject, *arguments: Any, **named: Any) -> Result:
        runs.append((subject, named["seed"]))
        return measure(self, subject, *arguments, **named)

    monkeypatch.setattr(Evaluator, "run", run)
    watcher = PolicyWatcher(path, ycsb, evaluator)
    for _ in served(evaluator, watcher, seed=7, report_seconds=0.01, seconds=0.02):
        publish("one")
        watcher.poll()
    assert runs == [(NATIVE["silo"], 7), (of_policy("one", path.read_text()), 8)]
    assert runs[1][0].backoff == "policy"


def test_a_grown_database_is_reloaded(
    path: Path, ycsb: Signature, monkeypatch: pytest.MonkeyPatch, evaluator: Evaluator
) -> None:
    monkeypatch.setattr(Evaluator, "grown_bytes", 5)
    watcher = PolicyWatcher(path, ycsb, evaluator)
    told = list(served(evaluator, watcher, report_seconds=1.0, seconds=0.02, grown_bytes_max=4))
    assert [type(each) for each in told] == [Reloaded, Report]
