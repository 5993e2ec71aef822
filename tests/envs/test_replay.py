"""Integration: a trace replayed on the compiled engine, on virtual cores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from envs import (
    NATIVE,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    Result,
    compare,
    subject_of,
    untuned,
)
from envs.engine_interface import load_engine
from envs.subject import Subject
from envs.trial import Trial, run_trial
from envs.workload import engine_workload, workload_signature
from policies import Signature
from tests.traces.replay.some_programs import shop
from tests.traces.some_transactions import NOON, manifest, row, write
from traces.manifest import Access, TransactionType

VIRTUAL = {"kind": "virtual"}
CORES = 4


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("replay")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield shop(folder / "shop")


@pytest.fixture(scope="module")
def workload(trace: Path) -> dict[str, str]:
    return {"name": "replay", "trace": str(trace)}


@pytest.fixture(scope="module")
def evaluator(workload: dict[str, str]) -> Iterator[Evaluator]:
    evaluator = Evaluator(workload, CORES, machine=VIRTUAL)
    yield evaluator
    evaluator.close()


def test_excluded_types_have_no_states(workload: dict[str, str]) -> None:
    signature = workload_signature(load_engine(), workload | {"exclude": "cancel"})
    assert signature.type_names == ("order",)
    with pytest.raises(ValueError, match="exclude='cancle': the trace has no such type"):
        engine_workload(workload | {"exclude": "order,cancle"})


def named(name: str, signature: Signature) -> Subject:
    return subject_of(name, signature, untuned)


def measured(evaluator: Evaluator, name: str, seed: int = 1) -> Result:
    subject = named(name, evaluator.signature)
    return evaluator.run(subject, 0.002, warmup=0, seed=seed, check=True)


@pytest.mark.parametrize("name", ["silo", "two_phase_locking", "occ", "ic3", "random:3"])
def test_the_mix_is_that_of_the_trace(evaluator: Evaluator, name: str) -> None:
    result = measured(evaluator, name)
    commits = {name: one.commits for name, one in result.types.items()}
    assert sum(commits.values()) > 1000
    assert commits["order"] / sum(commits.values()) == pytest.approx(0.75, abs=0.05)
    assert not result.violations


def test_the_same_run_is_the_same_to_the_bit(
    evaluator: Evaluator, workload: dict[str, str]
) -> None:
    first = measured(evaluator, "ic3")
    assert measured(evaluator, "ic3") == first
    other = Evaluator(workload, CORES, machine=VIRTUAL)
    assert measured(other, "ic3") == first
    other.close()


def test_the_signature_is_that_of_the_trace(evaluator: Evaluator) -> None:
    assert [one.name for one in evaluator.signature.types] == ["order", "cancel"]
    assert [one.name for one in evaluator.signature.types[1].accesses] == [
        "list_orders",
        "drop_order_read",
        "drop_order",
        "return_goods",
    ]


@pytest.mark.parametrize("name", ["silo", "two_phase_locking", "ic3", "random:5"])
def test_every_history_is_serializable(
    evaluator: Evaluator, workload: dict[str, str], name: str
) -> None:
    subject = named(name, evaluator.signature)
    verdict = run_trial(Trial(workload, CORES, 1, VIRTUAL, subject, seconds=0.001))
    assert verdict.findings == ()
    assert verdict.transactions > 500


def on_time(workload: dict[str, str], speed: str) -> dict[str, str]:
    """Make a trace with one transaction per second."""
    return workload | {"arrivals": "recorded", "speed": speed}


def test_recorded_arrivals_are_served_at_their_rate(workload: dict[str, str]) -> None:
    for speed, keeps_up in (("200000", True), ("20000000", False)):
        evaluator = Evaluator(on_time(workload, speed), CORES, machine=VIRTUAL)
        result = measured(evaluator, "silo")
        evaluator.close()
        assert result.arrivals is not None
        assert result.kept_up is not None
        assert result.arrivals.offered == pytest.approx(float(speed), rel=0.02)
        assert (result.kept_up > 0.98) == keeps_up
        assert (result.arrivals.lag_us > 1000) != keeps_up
        assert result.fitness == result.throughput
        assert not result.violations


@pytest.mark.parametrize("kind", ["virtual", "threads"])
@pytest.mark.parametrize("name", ["silo", "two_phase_locking", "random:5"])
def test_histories_of_recorded_arrivals_are_serializable(
    evaluator: Evaluator, workload: dict[str, str], name: str, kind: str
) -> None:
    subject = named(name, evaluator.signature)
    seconds = 0.002 if kind == "virtual" else 0.05
    trial = Trial(on_time(workload, "300000"), CORES, 1, {"kind": kind}, subject, seconds=seconds)
    verdict = run_trial(trial)
    assert verdict.findings == ()
    assert verdict.transactions > (500 if kind == "virtual" else 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"speed": "2"}, "option 'speed' is '2'.*add arrivals=recorded"),
        ({"arrivals": "recorded", "speed": "0"}, "option 'speed' is '0'; allowed: a number from"),
        ({"arrivals": "recorded", "speed": "nan"}, "option 'speed' is 'nan'; allowed: a number"),
        ({"arrivals": "late"}, "option 'arrivals' is 'late'; allowed: one of closed, recorded"),
    ],
)
def test_wrong_arrivals_are_reported(
    workload: dict[str, str], options: dict[str, str], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Evaluator(workload | options, CORES, machine=VIRTUAL)


def test_a_program_can_be_given_instead_of_a_trace(
    evaluator: Evaluator, workload: dict[str, str]
) -> None:
    program = engine_workload(workload)["program"]
    by_program = Evaluator({"name": "replay", "program": program}, CORES, machine=VIRTUAL)
    assert by_program.signature == evaluator.signature


def test_more_cores_than_sessions_are_refused(workload: dict[str, str]) -> None:
    many = Evaluator(workload, 11, machine=VIRTUAL)
    with pytest.raises(MeasuringError, match="10 sessions, fewer than the 11 cores"):
        measured(many, "silo")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "workload.trace=FOLDER"),
        ({"trace": "/nowhere"}, "there is no such folder"),
        ({"program": "/nowhere"}, "/nowhere: can't be read"),
        ({"program": "a", "trace": "b"}, "leave out workload.trace"),
    ],
)
def test_invalid_settings_are_reported(options: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Evaluator({"name": "replay", **options}, CORES, machine=VIRTUAL)


SETTLE = TransactionType("/settle", (Access(0, "settle", "account", "update"),))
PAY = TransactionType("/pay", (Access(0, "pay", "account", "update"),))


@pytest.fixture(scope="module")
def long_and_short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a trace with a session of long transactions and many of short ones on the same rows."""
    folder = tmp_path_factory.mktemp("mix")
    rows = []
    for number in range(1205):
        long = number % 241 == 0
        keys = range(200) if long else [number * 7 % 200]
        declared = SETTLE if long else PAY
        rows.append(
            row(
                number,
                type=declared.name,
                session=0 if long else 1 + number % 12,
                begin=NOON + timedelta(milliseconds=number),
                accesses=[
                    {"access": 0, "table": "account", "key": key, "kind": "update"} for key in keys
                ],
            )
        )
    return write(folder / "trace", rows, manifest=manifest(types=(SETTLE, PAY)))


def test_a_policy_that_starves_long_transactions_does_not_rank_first(
    long_and_short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    workload = {"name": "replay", "trace": str(long_and_short)}
    evaluator = Evaluator(workload, 8, machine={"kind": "virtual"})
    subjects = [NATIVE["silo"], NATIVE["two_phase_locking"]]
    plan = ComparisonPlan(0.003, 1, 0.0)
    silo, locking = compare(evaluator.run_round, subjects, plan, seed=1).rows
    evaluator.close()
    ran = silo.repeats[0]
    assert ran.types["/settle"].share == pytest.approx(5 / 1205)
    assert ran.throughput > locking.repeats[0].throughput
    assert [one.type_name for one in silo.shortfalls] == ["/settle"]
    assert locking.shortfalls == []
    assert silo.throughput < locking.throughput
