from __future__ import annotations

import os
from types import ModuleType
from typing import Any

import pytest

from envs import MeasuringError, calibration
from envs.calibration import TRIALS, CalibrationPlan, calibrate, steps
from trainer.command.costs import published_costs

PLAN = CalibrationPlan(0.01, 3, 0.01)


@pytest.fixture
def few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cases that the stand-in supports. A real fit has more cases than costs."""
    monkeypatch.setattr(
        calibration, "CASES", (({"name": "tpcc"}, "silo"), ({"name": "tpcc"}, "two_phase_locking"))
    )


@pytest.mark.usefixtures("few_cases")
def test_probe_results_become_costs(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "_private_cache_bytes", lambda: 512 << 10)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    monkeypatch.setattr(
        calibration, "_sharers_of_last_cache", lambda core: {0, 1} if core < 2 else {2}
    )
    said: list[str] = []
    found = calibrate(fake_engine.probe, PLAN, published_costs(), said.append)
    assert found.costs["private_lines"] == (512 << 10) // 64
    assert found.costs["shared_lines"] == (16 << 20) // 64
    assert (found.costs["shared_hit_ns"], found.costs["memory_ns"]) == (16.0, 130.0)
    assert found.costs["fetches"] == 10
    assert (found.costs["transfer_ns"], found.costs["far_transfer_ns"]) == (51.0, 51.5)
    assert found.costs["cores_per_socket"] == 2
    assert found.assumed == {}
    assert set(found.costs) == set(published_costs())
    assert len(said) == steps(PLAN)
    assert all(found.costs[step] >= 0 for step in TRIALS)


@pytest.mark.usefixtures("few_cases")
def test_costs_that_cannot_be_measured_are_reported(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "_private_cache_bytes", lambda: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    monkeypatch.setattr(calibration, "_sharers_of_last_cache", lambda core: None)
    published = published_costs()
    found = calibrate(fake_engine.probe, PLAN, published)
    assert set(found.assumed) == {
        "private_lines",
        "cores_per_socket",
        "transfer_ns",
        "far_transfer_ns",
    }
    for name in found.assumed:
        assert found.costs[name] == published[name]


@pytest.mark.usefixtures("few_cases")
def test_copies_without_measurable_cost_are_left_out(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the difference of two times may be 0."""
    times = iter([0.0, 4.0, 2.0])
    monkeypatch.setattr(fake_engine.probe, "stream_ns", lambda size: next(times))
    assert calibrate(fake_engine.probe, PLAN, published_costs()).costs["stream_ns"] == 2.0
    monkeypatch.setattr(fake_engine.probe, "stream_ns", lambda size: 0.0)
    found = calibrate(fake_engine.probe, PLAN, published_costs())
    assert found.costs["stream_ns"] == published_costs()["stream_ns"] > 0
    assert "busy machine" in found.assumed["stream_ns"]


def test_virtual_time_advances_where_other_costs_are_zero() -> None:
    """On the compiled engine, where reads of one cached line cost almost nothing."""
    nothing = dict(published_costs()) | {"atomic_ns": 0.0, "stream_ns": 0.0}
    workload = {"name": "ycsb", "theta": "0", "records": "1000", "read": "100", "rmw": "0"}
    bare, slopes = calibration._virtual_line(
        workload, "silo", nothing, CalibrationPlan(0.01, 1, 0.0005), lambda words: None
    )
    assert bare == pytest.approx(0.0, abs=1.0)
    assert slopes[list(TRIALS).index("transaction_ns")] == pytest.approx(1.0, abs=0.05)
    assert slopes[list(TRIALS).index("lookup_ns")] == pytest.approx(16.0, rel=0.05)


@pytest.mark.usefixtures("few_cases")
def test_a_failing_case_does_not_affect_others(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    virtual = calibration._virtual_ns

    def stuck(workload: Any, name: str, *rest: Any) -> float:
        if name == "silo":
            raise MeasuringError("virtual time has stopped; the run was ended")
        return virtual(workload, name, *rest)

    monkeypatch.setattr(calibration, "_virtual_ns", stuck)
    monkeypatch.setattr(calibration, "TRIALS", {"word_ns": 5.0})
    monkeypatch.setattr(calibration, "BASE", {"word_ns": 0.0})
    found = calibrate(fake_engine.probe, PLAN, published_costs())
    assert list(found.left_out) == ["name=tpcc under silo"]
    assert [fit.subject for fit in found.fits] == ["two_phase_locking"]
    assert "word_ns" not in found.assumed


@pytest.mark.usefixtures("few_cases")
@pytest.mark.parametrize("stop", [KeyboardInterrupt, MeasuringError])
def test_measured_costs_are_kept(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    def stopped(*arguments: Any) -> float:
        raise stop("stopped")

    monkeypatch.setattr(calibration, "_virtual_ns", stopped)
    published = published_costs()
    found = calibrate(fake_engine.probe, PLAN, published)
    assert found.interrupted == (stop is KeyboardInterrupt)
    assert found.fits == []
    assert found.costs["memory_ns"] == 130.0
    assert all(found.costs[name] == published[name] for name in TRIALS)
    assert set(TRIALS) <= set(found.assumed)
