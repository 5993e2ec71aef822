from __future__ import annotations

import os
from types import ModuleType

import pytest

from envs import calibration
from envs.calibration import TRIALS, CalibrationPlan, calibrate, steps
from trainer.command.costs import published_costs

PLAN = CalibrationPlan(0.01, 3, 0.01)


@pytest.fixture
def few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in knows these two; more cases than costs are fitted in earnest only."""
    monkeypatch.setattr(
        calibration, "CASES", (({"name": "tpcc"}, "silo"), ({"name": "tpcc"}, "two_phase_locking"))
    )


@pytest.mark.usefixtures("few_cases")
def test_what_the_probes_tell_becomes_costs(
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
    assert (found.costs["transfer_ns"], found.costs["far_transfer_ns"]) == (51.0, 51.5)
    assert found.costs["cores_per_socket"] == 2
    assert found.assumed == {}
    assert set(found.costs) == set(published_costs())
    assert len(said) == steps(PLAN)
    assert all(found.costs[step] >= 0 for step in TRIALS)


@pytest.mark.usefixtures("few_cases")
def test_what_could_not_be_measured_is_said(
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
