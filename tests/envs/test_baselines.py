from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from envs import (
    BASELINES,
    ComparisonPlan,
    Evaluator,
    Subject,
    SweepPlan,
    TunedBackoff,
    UnknownPolicyError,
    compare,
    comparison_table,
    policy_names,
    scheduled,
    subject_of,
    sweep_backoff,
)
from envs.round import Outcome, finished
from policies import PolicyFileError, Signature, build_seed, save
from trainer.command.output import as_text


def constant() -> TunedBackoff:
    return TunedBackoff(4.0)


def never() -> TunedBackoff:
    raise AssertionError("the sweep is not needed")


def test_every_baseline_is_a_subject(tpcc: Signature) -> None:
    subjects = [subject_of(name, tpcc, constant) for name in BASELINES]
    assert [subject.name for subject in subjects] == list(BASELINES)
    assert {subject.protocol for subject in subjects} == {
        "silo",
        "two_phase_locking",
        "policy_table",
    }


def test_only_the_tuned_baseline_asks_for_the_constant(tpcc: Signature) -> None:
    for name in ("silo", "two_phase_locking_no_wait", "random:3", "ic3"):
        subject_of(name, tpcc, never)
    assert subject_of("silo_tuned", tpcc, constant).backoff_us == 4.0


def test_a_protocol_of_the_engine_needs_no_entry(
    tpcc: Signature, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "protocols", lambda: ["silo", "cicada", "policy_table"])
    subject = subject_of("cicada", tpcc, never)
    assert (subject.name, subject.protocol, subject.policy) == ("cicada", "cicada", None)
    assert "cicada" in policy_names()
    assert "policy_table" not in policy_names()


def test_options_of_a_protocol_may_follow_its_name(tpcc: Signature) -> None:
    name = "two_phase_locking:conflict=detect:grant=bldsf"
    subject = subject_of(name, tpcc, never)
    assert (subject.name, subject.protocol) == (name, "two_phase_locking")
    assert subject.options == {"conflict": "detect", "grant": "bldsf"}
    assert subject_of("aria:batch=2", tpcc, never).backoff == "none"
    admitted = subject_of(f"{name}+smf", tpcc, never)
    assert (admitted.options, admitted.schedule) == (subject.options, {"policy": "smf"})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two_phase_locking:grant=lifo", "one of fifo, vats, mlf, mblf, ddf, ldsf, bldsf"),
        ("two_phase_locking:grant=vats", "fifo; the others need conflict=detect"),
        ("two_phase_locking:locks=many", "unknown option 'locks'"),
        ("aria:reordering=perhaps", "one of on, off"),
        ("aria:batch=-1", "0 to 1024"),
        ("silo:grant=fifo", "option 'grant=fifo' is not known; valid: none"),
        ("aria:batch=1:batch=2", "^policy=aria:batch=1:batch=2: .*batch occurs twice"),
    ],
)
def test_an_unknown_option_of_a_protocol_is_refused(
    tpcc: Signature, name: str, message: str
) -> None:
    with pytest.raises(UnknownPolicyError, match=message):
        subject_of(name, tpcc, never)


def test_a_path_is_loaded(tpcc: Signature, tmp_path: Path, fake_engine: ModuleType) -> None:
    path = tmp_path / "mine.json"
    save(build_seed("ic3", tpcc), path)
    subject = subject_of(str(path), tpcc, never)
    assert (subject.name, subject.protocol, subject.backoff) == (
        str(path),
        "policy_table",
        "policy",
    )


def test_a_mistyped_name_gets_a_suggestion(tpcc: Signature) -> None:
    with pytest.raises(UnknownPolicyError, match="did you mean silo_tuned") as caught:
        subject_of("silo_tund", tpcc, never)
    assert all(name in str(caught.value) for name in policy_names())


def test_a_missing_file_is_named(tpcc: Signature) -> None:
    with pytest.raises(PolicyFileError, match=r"no/such\.json"):
        subject_of("no/such.json", tpcc, never)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_sweep_finds_the_best_constant(
    evaluator: Evaluator, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, noise: float
) -> None:
    monkeypatch.setattr(fake_engine, "NOISE", noise)
    plan = SweepPlan(seconds=0.1)
    calls = []
    sweep = sweep_backoff(evaluator.run_round, plan, 1, lambda: calls.append(1))
    assert sweep.best.constant_us == fake_engine.BEST_BACKOFF_US
    assert len(calls) == plan.runs


@pytest.mark.parametrize("breaks_down_in", [{2}, {2, 3}])
def test_a_constant_that_collapses_in_some_long_runs_is_not_best(
    evaluator: Evaluator, fake_engine: ModuleType, breaks_down_in: set[int]
) -> None:
    """The best constant in short runs and in the median of long ones may commit less in total."""

    def run_round(
        subjects: Sequence[Subject], seconds: float, **how: Any
    ) -> Iterator[tuple[int, Outcome]]:
        for index, outcome in evaluator.run_round(subjects, seconds, **how):
            result = finished(outcome)
            broken = seconds > plan.seconds and how["seed"] - seed in breaks_down_in
            if broken and subjects[index].backoff_us == fake_engine.BEST_BACKOFF_US:
                result = replace(result, throughput=result.throughput / 2)
            yield index, result

    seed = 1
    plan = SweepPlan(seconds=0.1, rounds=1, final_rounds=5, final_slices=3)
    found = sweep_backoff(run_round, plan, seed)
    assert found.best.constant_us != fake_engine.BEST_BACKOFF_US
    brief = sweep_backoff(run_round, replace(plan, final_slices=1), seed)
    assert brief.best.constant_us == fake_engine.BEST_BACKOFF_US


@pytest.mark.parametrize(("kind", "best_us"), [("threads", 4.0), ("virtual", 2.0)])
def test_the_sweep_ranks_by_the_fitness_of_candidates(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, kind: str, best_us: float
) -> None:
    monkeypatch.setattr(fake_engine, "STARVED_ABOVE_US", 2.0)
    evaluator = Evaluator({"name": "tpcc"}, 2, machine={"kind": kind})
    assert sweep_backoff(evaluator.run_round, SweepPlan(seconds=0.1), 1).best.constant_us == best_us


@pytest.mark.parametrize(
    ("optimum", "found", "tried", "at_end"),
    [
        (4096.0, 4096.0, "0.125 to 8192 µs were tried)", False),
        (1024.0, 1024.0, "0.125 to 2048 µs were tried)", False),
        (0.125, 0.125, "0 to 1024 µs were tried)", False),
        (0.01, 0.0, "0 to 1024 µs were tried)", False),
        (1e6, 16384.0, "0.125 to 16384 µs were tried; the longest is the best of them", True),
    ],
)
def test_the_sweep_extends_beyond_the_shortest_and_longest_constant(
    evaluator: Evaluator,
    fake_engine: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    optimum: float,
    found: float,
    tried: str,
    at_end: bool,
) -> None:
    monkeypatch.setattr(fake_engine, "BEST_BACKOFF_US", optimum)
    plan = SweepPlan(seconds=0.1, rounds=1, final_rounds=2)
    sweep = sweep_backoff(evaluator.run_round, plan, 1)
    assert (sweep.best.constant_us, sweep.at_end) == (found, at_end)
    assert tried in sweep.words


def test_exponential_backoff_is_tuned_where_it_beats_every_constant(
    evaluator: Evaluator, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "EXPONENTIAL", 1.6)
    sweep = sweep_backoff(evaluator.run_round, SweepPlan(seconds=0.1), 1)
    assert sweep.best == TunedBackoff(4.0, exponential=True)
    assert sweep.gain == pytest.approx(1.2 / 1.6)
    assert sweep.words == (
        "exponential backoff suits Silo best here; a constant 4 µs is 0.750 × exponential backoff "
        "(0.125 to 1024 µs were tried)"
    )
    tuned = sweep.best.silo()
    assert (tuned.name, tuned.backoff) == ("silo_tuned", "exponential")
    comparison = compare(evaluator.run_round, [tuned], ComparisonPlan(0.1, 1, 0.0), 1)
    assert "silo_tuned (exponential)" in as_text(comparison_table(comparison, ""))


def test_a_tuned_backoff_survives_json_and_earlier_versions_are_read() -> None:
    for tuned in (TunedBackoff(4.0), TunedBackoff(0.5, exponential=True)):
        assert TunedBackoff.from_json(json.loads(json.dumps(tuned.as_dict()))) == tuned
    assert TunedBackoff.from_json(8.0) == TunedBackoff(8.0)


def test_an_admission_policy_may_follow_a_name(tpcc: Signature, fake_engine: ModuleType) -> None:
    subject = subject_of("ic3+smf", tpcc, never)
    assert (subject.name, subject.protocol) == ("ic3+smf", "policy_table")
    assert subject.schedule == {"policy": "smf"}
    assert subject_of("silo", tpcc, never).schedule == {}
    with pytest.raises(UnknownPolicyError, match=r"policy=silo\+lifo: .*'policy' is 'lifo'"):
        subject_of("silo+lifo", tpcc, never)
    with pytest.raises(UnknownPolicyError, match="did you mean silo"):
        subject_of("sillo+smf", tpcc, never)


def test_a_schedule_in_the_name_takes_precedence(tpcc: Signature, fake_engine: ModuleType) -> None:
    settings = {"policy": "smf", "window": "4"}
    subject = scheduled(subject_of("silo", tpcc, never), settings)
    assert (subject.name, subject.schedule) == ("silo+smf", settings)
    deferring = scheduled(subject_of("silo+tsdefer", tpcc, never), settings)
    assert deferring.name == "silo+tsdefer"
    assert deferring.schedule == {"policy": "tsdefer", "window": "4"}
    unscheduled = scheduled(subject_of("silo+fifo", tpcc, never), settings)
    assert (unscheduled.name, unscheduled.schedule) == ("silo+fifo", {})


def test_a_table_brings_its_own_schedule(
    tpcc: Signature, fake_engine: ModuleType, tmp_path: Path
) -> None:
    schedule = {"policy": "smf", "window": 16, "unscheduled": ["payment"]}
    file = tmp_path / "mine.json"
    save(replace(build_seed("occ", tpcc), schedule=schedule), file)
    settings = {"policy": "tsdefer", "window": "4", "k": "3"}
    own = scheduled(subject_of(str(file), tpcc, never), settings)
    # Fields missing from the file have their defaults, not the settings of other policies.
    assert (own.name, own.schedule["policy"], own.schedule["k"]) == (str(file), "smf", "5")
    assert (own.schedule["window"], own.schedule["unscheduled"]) == ("16", "payment")
    other = scheduled(subject_of(f"{file}+tsdefer", tpcc, never), settings)
    assert (other.name, other.schedule) == (f"{file}+tsdefer", settings)
    # Without an option the engine would use the table's own schedule.
    without = scheduled(subject_of(f"{file}+fifo", tpcc, never), settings)
    assert without.schedule == {"policy": "fifo"}
    save(replace(build_seed("occ", tpcc), schedule={"policy": "fifo"}), file)
    kept = scheduled(subject_of(str(file), tpcc, never), settings)
    assert (kept.name, kept.schedule) == (str(file), {"policy": "fifo"})
