from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

import pytest

from envs import (
    NATIVE,
    Evaluator,
    Interrupted,
    MeasuringError,
    finished,
    of_policy,
    static_silo,
)
from policies import Encoding, Signature, build_seed, to_json

SLICE: dict[str, Any] = {"slices": 3, "seconds": 0.05, "warmup": 0.0, "seed": 1}


def table(name: str, encoding: Encoding) -> str:
    return to_json(encoding.decode([0] * encoding.size, name))


def alter_runs(
    engine: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    alter: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    """Alter the stand-in's results from here on."""
    run = engine.Session.run

    def altered(*arguments: Any, **named: Any) -> dict[str, Any]:
        return alter(run(*arguments, **named))

    monkeypatch.setattr(engine.Session, "run", altered)


@pytest.fixture
def runs(fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the list of the stand-in's runs from here on."""
    run, asked = fake_engine.Session.run, []

    def watched(session: Any, options: Any, **named: Any) -> Any:
        asked.append({**vars(options), **named})
        return run(session, options, **named)

    monkeypatch.setattr(fake_engine.Session, "run", watched)
    return asked


def letters(runs: list[dict[str, Any]]) -> str:
    """Return r for the reference (exponential backoff) and x for a candidate (a constant one)."""
    return "".join("x" if run["backoff"] == "static" else "r" for run in runs)


def test_ratios_are_relative_to_the_reference(evaluator: Evaluator, tpcc: Signature) -> None:
    occ = of_policy("occ", to_json(build_seed("occ", tpcc)))
    found = evaluator.evaluate([occ, static_silo(4.0)], NATIVE["silo"], **SLICE)
    assert found[0].ratios == pytest.approx([1.0] * 3)
    assert found[1].ratios == pytest.approx([1.2] * 3)
    assert len(found[0].results) == 3


@pytest.mark.parametrize(
    ("reference_every", "wanted"), [(1, "rxrxrxr"), (2, "rxxrxr"), (5, "rxxxr")]
)
def test_slices_are_interleaved_with_the_reference(
    evaluator: Evaluator, runs: list[dict[str, Any]], reference_every: int, wanted: str
) -> None:
    arguments = {**SLICE, "slices": 1, "reference_every": reference_every}
    evaluator.evaluate([static_silo(4.0)] * 3, NATIVE["silo"], **arguments)
    assert letters(runs) == wanted


def test_drift_cancels(
    evaluator: Evaluator, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that slows by one percent per run changes a ratio by less."""
    pace = [1.0]

    def slowed(result: dict[str, Any]) -> dict[str, Any]:
        pace[0] *= 0.99
        return {**result, "throughput": result["throughput"] * pace[0]}

    alter_runs(fake_engine, monkeypatch, slowed)
    found = evaluator.evaluate([NATIVE["silo"]] * 10, NATIVE["silo"], **SLICE)
    assert [ratio for one in found for ratio in one.ratios] == pytest.approx([1.0] * 30, abs=2e-4)
    assert pace[0] < 0.75


def test_a_failing_candidate_does_not_affect_others(
    evaluator: Evaluator, encoding: Encoding
) -> None:
    candidates = [
        static_silo(4.0),
        of_policy("explode", table("explode", encoding)),
        of_policy("broken", to_json(build_seed("occ", _other_signature()))),
        static_silo(4.0),
    ]
    found = evaluator.evaluate(candidates, NATIVE["silo"], **SLICE)
    assert [len(one.ratios) for one in found] == [3, 0, 0, 3]
    assert found[1].error is not None
    assert "stuck" in found[1].error
    assert found[2].error is not None
    assert "another workload" in found[2].error


def test_a_failing_reference_is_an_error(evaluator: Evaluator, encoding: Encoding) -> None:
    reference = of_policy("explode", table("explode", encoding))
    with pytest.raises(MeasuringError, match="stuck"):
        evaluator.evaluate([static_silo(4.0)], reference, **SLICE)


@pytest.mark.parametrize(("idle", "fails"), [(3, False), (99, True)])
def test_a_reference_slice_without_a_commit_is_measured_again(
    evaluator: Evaluator,
    fake_engine: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    idle: int,
    fails: bool,
) -> None:
    left = [idle]

    def sometimes_idle(result: dict[str, Any]) -> dict[str, Any]:
        left[0] -= 1
        return {**result, "throughput": 0.0} if left[0] >= 0 else result

    alter_runs(fake_engine, monkeypatch, sometimes_idle)
    arguments = {**SLICE, "slices": 1}
    if fails:
        with pytest.raises(MeasuringError, match="committed nothing"):
            evaluator.evaluate([NATIVE["silo"]], NATIVE["silo"], **arguments)
    else:
        (found,) = evaluator.evaluate([NATIVE["silo"]], NATIVE["silo"], **arguments)
        assert found.ratios == pytest.approx([1.0])
        assert left[0] < 0


def test_a_grown_database_is_reloaded(fake_engine: ModuleType) -> None:
    evaluator = Evaluator({"name": "tpcc"}, 2, grown_bytes_max=2 << 20)
    sessions = set()
    for seed in range(9):
        evaluator.run(NATIVE["silo"], 0.1, warmup=0.0, seed=seed)
        sessions.add(id(evaluator._session))
        assert evaluator._session is not None
        assert evaluator._session.grown_bytes <= 3 << 20


def test_a_database_that_does_not_fit_is_an_error(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(fake_engine, "Session", too_large)
    with pytest.raises(MeasuringError, match="not enough memory"):
        Evaluator({"name": "tpcc"}, 2).run(NATIVE["silo"], 0.1, warmup=0.0, seed=1)


def test_an_interrupt_keeps_completed_measurements(
    evaluator: Evaluator, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = fake_engine.Session({"name": "tpcc"}, 2)
    partial = session.run(fake_engine.RunOptions(seconds=0.3))

    def interrupted(*arguments: Any, **named: Any) -> None:
        error = fake_engine.Interrupted()
        error.result = partial
        raise error

    monkeypatch.setattr(fake_engine.Session, "run", interrupted)
    with pytest.raises(Interrupted) as caught:
        evaluator.run(NATIVE["silo"], 5.0, warmup=0.0, seed=1)
    assert caught.value.result is not None
    assert caught.value.result.duration_s == 0.3


def test_a_database_is_loaded_for_the_machine(
    evaluator: Evaluator, fake_engine: ModuleType
) -> None:
    machine = {"kind": "virtual", "seed": "7", "skew_ns": "0.0"}
    for made, wanted in ((evaluator, {"kind": "threads"}), (_virtual(machine), machine)):
        result = made.run(NATIVE["silo"], 0.1, warmup=0.0, seed=1)
        assert made._session is not None
        assert vars(made._session)["machine"] == wanted
        assert (result.machine.kind, result.machine.cores) == (wanted["kind"], made.cores)


def test_on_virtual_cores_every_run_starts_from_the_database_as_it_was_loaded(
    runs: list[dict[str, Any]],
) -> None:
    evaluator = _virtual(grown_bytes_max=0)
    evaluator.run(NATIVE["silo"], 0.1, warmup=0.0, seed=1)
    loaded = evaluator._session
    evaluator.evaluate([static_silo(4.0)], NATIVE["silo"], **SLICE)
    assert evaluator._session is loaded
    assert evaluator.grown_bytes == 0
    assert [run["on_copy"] for run in runs] == [True] * 3


@pytest.mark.parametrize(("kills", "runs"), [(1, 2), (2, 2)])
def test_a_run_whose_process_is_killed_is_repeated_once(
    kills: int, runs: int, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, made = fake_engine.Session.run, []

    def killed(*arguments: Any, **named: Any) -> Any:
        made.append(named)
        if len(made) <= kills:
            raise RuntimeError("its process ended by signal SIGKILL, such as for want of memory")
        return run(*arguments, **named)

    monkeypatch.setattr(fake_engine.Session, "run", killed)
    evaluator = _virtual()
    if kills == 1:
        assert evaluator.run(NATIVE["silo"], 0.1, warmup=0.0, seed=1).commits > 0
    else:
        with pytest.raises(MeasuringError, match="silo: its process ended by signal SIGKILL"):
            evaluator.run(NATIVE["silo"], 0.1, warmup=0.0, seed=1)
    assert len(made) == runs


def test_on_real_cores_runs_use_the_database_in_place(
    evaluator: Evaluator, runs: list[dict[str, Any]]
) -> None:
    evaluator.run(NATIVE["silo"], 0.1, warmup=0.0, seed=1)
    evaluator.evaluate([static_silo(4.0)], NATIVE["silo"], **SLICE)
    assert {(run["on_copy"], run["check"]) for run in runs} == {(False, False)}


def test_on_virtual_cores_slices_are_one_long_run_and_the_reference_is_run_once(
    virtual_evaluator: Evaluator, runs: list[dict[str, Any]]
) -> None:
    arguments = {**SLICE, "slices": 2}
    found = virtual_evaluator.evaluate([static_silo(4.0)] * 3, NATIVE["silo"], **arguments)
    assert [one.ratios for one in found] == [pytest.approx([1.2])] * 3
    assert {one.slices for one in found} == {2}
    assert letters(runs) == "rxxx"
    assert {run["seconds"] for run in runs[1:]} == {2 * SLICE["seconds"]}
    for seed, slices in ((1, 2), (2, 1), (9, 4)):
        runs.clear()
        virtual_evaluator.evaluate(
            [static_silo(4.0)], NATIVE["silo"], **{**arguments, "seed": seed, "slices": slices}
        )
        assert letters(runs) == "x"


def test_on_virtual_cores_the_reference_is_the_same_for_all_inputs(
    fake_engine: ModuleType, runs: list[dict[str, Any]]
) -> None:
    """Candidates on different inputs are measured in the same unit."""
    for seed in (1, 5):
        evaluator = Evaluator({"name": "tpcc"}, 4, machine={"kind": "virtual"}, seed=7)
        evaluator.evaluate([static_silo(4.0)], NATIVE["silo"], **{**SLICE, "seed": seed})
    references = [run for run in runs if run["backoff"] != "static"]
    assert [run["seed"] for run in references] == [7, 7]
    assert {run["seconds"] for run in references} == {10 * SLICE["seconds"]}


@pytest.mark.parametrize("changed", [{"seconds": 0.06}, {"warmup": 0.01}])
def test_a_different_slice_length_runs_the_reference_again(
    virtual_evaluator: Evaluator, runs: list[dict[str, Any]], changed: dict[str, Any]
) -> None:
    arguments = {**SLICE, "slices": 1}
    virtual_evaluator.evaluate([static_silo(4.0)], NATIVE["silo"], **arguments)
    virtual_evaluator.evaluate([static_silo(4.0)], NATIVE["silo"], **{**arguments, **changed})
    assert letters(runs) == "rxrx"


def test_a_changed_reference_with_the_same_name_is_run_again(virtual_evaluator: Evaluator) -> None:
    """For example after `silo_tuned` was tuned again."""
    arguments = {**SLICE, "slices": 1}
    for constant, ratio in ((4.0, 1.0), (8.0, 1.2 / 1.1)):
        (found,) = virtual_evaluator.evaluate(
            [static_silo(4.0)], static_silo(constant), **arguments
        )
        assert found.ratios == pytest.approx([ratio])


@pytest.mark.parametrize(("kind", "ratio"), [("threads", 1.2), ("virtual", 0.0)])
def test_deferring_a_type_does_not_pay_on_virtual_cores(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, kind: str, ratio: float
) -> None:
    monkeypatch.setattr(fake_engine, "STARVED_ABOVE_US", 2.0)
    evaluator = Evaluator({"name": "tpcc"}, 2, machine={"kind": kind})
    (found,) = evaluator.evaluate([static_silo(4.0)], NATIVE["silo"], **SLICE)
    assert found.ratios == pytest.approx([ratio] * len(found.results))


def test_a_reference_that_defers_a_type_is_an_error_on_virtual_cores(
    virtual_evaluator: Evaluator, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "STARVED_ABOVE_US", 2.0)
    with pytest.raises(MeasuringError, match="a type commits nothing"):
        virtual_evaluator.evaluate([NATIVE["silo"]], static_silo(4.0), **SLICE)


def test_a_run_is_checked_on_request(evaluator: Evaluator, fake_engine: ModuleType) -> None:
    fake_engine.VIOLATIONS.append("W_YTD is wrong")
    assert evaluator.run(NATIVE["silo"], 0.1, warmup=0.0, seed=1).violations == []
    checked = evaluator.run(NATIVE["silo"], 0.1, warmup=0.0, seed=1, check=True)
    assert checked.violations == ["W_YTD is wrong"]


@pytest.mark.parametrize(
    ("kind", "checks"), [("threads", [False, False, True]), ("virtual", [True, True, True])]
)
def test_a_round_checks_every_database_once(
    fake_engine: ModuleType, runs: list[dict[str, Any]], kind: str, checks: list[bool]
) -> None:
    subjects = [NATIVE["silo"], static_silo(4.0), static_silo(8.0)]
    evaluator = Evaluator({"name": "tpcc"}, 2, machine={"kind": kind})
    for check in (False, True):
        runs.clear()
        found = evaluator.run_round(subjects, 0.1, warmup=0.01, seed=7, check=check)
        assert [index for index, _ in found] == [0, 1, 2]
        assert [run["check"] for run in runs] == (checks if check else [False] * 3)
    assert {(run["seconds"], run["warmup"], run["seed"]) for run in runs} == {(0.1, 0.01, 7)}


def test_a_failing_run_does_not_affect_its_round(evaluator: Evaluator, encoding: Encoding) -> None:
    broken = of_policy("explode", table("explode", encoding))
    round_ = evaluator.run_round([broken, NATIVE["silo"]], 0.1, warmup=0.0, seed=1)
    (_, failure), (_, result) = round_
    assert str(failure) == "explode: worker 0 is stuck"
    assert finished(result).commits == 10_000
    with pytest.raises(MeasuringError, match="stuck"):
        finished(failure)


def _virtual(
    machine: Mapping[str, str] = MappingProxyType({"kind": "virtual"}),
    grown_bytes_max: int = 1 << 30,
) -> Evaluator:
    return Evaluator({"name": "tpcc"}, 48, machine=machine, grown_bytes_max=grown_bytes_max)


def _other_signature() -> Signature:
    from tests.trainer import fake_engine

    return Signature.from_dict(fake_engine.signature({"name": "transfer"}))
