from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from envs import NATIVE, Evaluator, Interrupted, MeasuringError, of_policy, static_silo
from policies import Encoding, Signature, build_seed, to_json

SLICE: dict[str, Any] = {"slices": 3, "seconds": 0.05, "warmup": 0.0, "seed": 1}


def table(name: str, encoding: Encoding) -> str:
    return to_json(encoding.decode([0] * encoding.size, name))


def test_a_ratio_is_to_the_reference(evaluator: Evaluator, tpcc: Signature) -> None:
    occ = of_policy("occ", to_json(build_seed("occ", tpcc)))
    found = evaluator.evaluate([occ, static_silo(4.0)], NATIVE["silo"], **SLICE)
    assert found[0].ratios == pytest.approx([1.0] * 3)
    assert found[1].ratios == pytest.approx([1.2] * 3)
    assert len(found[0].results) == 3


@pytest.mark.parametrize(
    ("reference_every", "wanted"), [(1, "rxrxrxr"), (2, "rxxrxr"), (5, "rxxxr")]
)
def test_slices_are_interleaved_with_the_reference(
    evaluator: Evaluator,
    monkeypatch: pytest.MonkeyPatch,
    reference_every: int,
    wanted: str,
) -> None:
    order: list[str] = []
    run = evaluator.run

    def watched(subject: Any, *arguments: Any, **named: Any) -> Any:
        order.append("r" if subject.name == "silo" else "x")
        return run(subject, *arguments, **named)

    monkeypatch.setattr(evaluator, "run", watched)
    arguments = {**SLICE, "slices": 1, "reference_every": reference_every}
    evaluator.evaluate([static_silo(4.0)] * 3, NATIVE["silo"], **arguments)
    assert "".join(order) == wanted


def test_drift_cancels(evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that slows by one percent a run does not change a ratio by as much."""
    run, pace = evaluator.run, [1.0]

    def slowing(*arguments: Any, **named: Any) -> Any:
        import dataclasses

        pace[0] *= 0.99
        result = run(*arguments, **named)
        return dataclasses.replace(result, throughput=result.throughput * pace[0])

    monkeypatch.setattr(evaluator, "run", slowing)
    found = evaluator.evaluate([NATIVE["silo"]] * 10, NATIVE["silo"], **SLICE)
    assert [ratio for one in found for ratio in one.ratios] == pytest.approx([1.0] * 30, abs=2e-4)


def test_a_failing_candidate_costs_only_itself(evaluator: Evaluator, encoding: Encoding) -> None:
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
    evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch, idle: int, fails: bool
) -> None:
    run, left = evaluator.run, [idle]

    def sometimes_idle(subject: Any, *arguments: Any, **named: Any) -> Any:
        import dataclasses

        result = run(subject, *arguments, **named)
        left[0] -= 1
        return dataclasses.replace(result, throughput=0.0) if left[0] >= 0 else result

    monkeypatch.setattr(evaluator, "run", sometimes_idle)
    arguments = {**SLICE, "slices": 1}
    if fails:
        with pytest.raises(MeasuringError, match="committed nothing"):
            evaluator.evaluate([NATIVE["silo"]], NATIVE["silo"], **arguments)
    else:
        (found,) = evaluator.evaluate([NATIVE["silo"]], NATIVE["silo"], **arguments)
        assert found.ratios == pytest.approx([1.0])


def test_a_database_that_grew_is_loaded_anew(fake_engine: ModuleType) -> None:
    evaluator = Evaluator({"name": "tpcc"}, 2, grown_bytes_max=2 << 20)
    sessions = set()
    for seed in range(9):
        evaluator.run(NATIVE["silo"], 0.1, warmup=0.0, seed=seed)
        sessions.add(id(evaluator._session))
        assert evaluator._session is not None
        assert evaluator._session.grown_bytes <= 3 << 20


def test_a_database_that_does_not_fit_is_told_so(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(fake_engine, "Session", too_large)
    with pytest.raises(MeasuringError, match="not enough memory"):
        Evaluator({"name": "tpcc"}, 2).run(NATIVE["silo"], 0.1, warmup=0.0, seed=1)


def test_an_interrupt_carries_what_was_measured(
    evaluator: Evaluator, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = fake_engine.Session({"name": "tpcc"}, 2)
    partial = session.run("silo", None, "none", 0.0, 0.3, 0.0, 1, {})

    def interrupted(*arguments: Any) -> None:
        error = fake_engine.Interrupted()
        error.result = partial
        raise error

    monkeypatch.setattr(fake_engine.Session, "run", interrupted)
    with pytest.raises(Interrupted) as caught:
        evaluator.run(NATIVE["silo"], 5.0, warmup=0.0, seed=1)
    assert caught.value.result is not None
    assert caught.value.result.duration_s == 0.3


def _other_signature() -> Signature:
    from tests.trainer import fake_engine

    return Signature.from_dict(fake_engine.signature({"name": "transfer"}))
