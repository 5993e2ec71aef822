from __future__ import annotations

import json
from types import ModuleType

import pytest

from envs import Result


def test_the_engines_dictionary_is_converted_completely(fake_engine: ModuleType) -> None:
    session = fake_engine.Session({"name": "tpcc"}, 2)
    raw = session.run(fake_engine.RunOptions(seconds=0.5, seed=7))
    result = Result.from_dict(raw)
    assert result.throughput == raw["throughput"]
    assert result.machine.cores == 2
    assert result.types["payment"].latency_us.p99 == 40.0
    assert len(result.aborts_by_state) == 27
    assert result.violations == []
    again = json.loads(json.dumps(result.as_dict()))
    assert again == raw
    assert Result.from_dict(again) == result


def test_a_checked_run_has_violations(fake_engine: ModuleType) -> None:
    fake_engine.VIOLATIONS.append("W_YTD is wrong")
    session = fake_engine.Session({"name": "tpcc"}, 2, 1, {"kind": "virtual"})
    raw = session.run(fake_engine.RunOptions(seconds=0.5), on_copy=True, check=True)
    result = Result.from_dict(raw)
    assert result.violations == ["W_YTD is wrong"]
    assert Result.from_dict(result.as_dict()) == result


@pytest.mark.parametrize(("kind", "fitness"), [("threads", 100.0), ("virtual", 90.0)])
def test_fitness_is_mixed_throughput_on_virtual_cores_only(kind: str, fitness: float) -> None:
    raw = {"schema_version": 1, "throughput": 100.0, "mixed_throughput": 90.0}
    assert Result.from_dict({**raw, "machine": {"kind": kind, "cores": 2}}).fitness == fitness


def test_an_open_loop_reports_whether_it_kept_up() -> None:
    raw = {
        "schema_version": 1,
        "throughput": 90.0,
        "duration_s": 2.0,
        "machine": {"kind": "virtual", "cores": 4},
        "arrivals": {"offered": 120.0, "backlog": 60, "lag_us": 5e5, "idle_s": 2.0},
    }
    result = Result.from_dict(raw)
    assert result.arrivals is not None
    assert (result.arrivals.backlog, result.arrivals.lag_us) == (60, 5e5)
    assert (result.kept_up, result.busy) == (0.75, 0.75)
    assert result.as_dict()["arrivals"] == raw["arrivals"]
    assert Result.from_dict(result.as_dict()) == result


def test_a_closed_loop_has_no_arrivals() -> None:
    result = Result.from_dict({"schema_version": 1, "throughput": 90.0})
    assert (result.arrivals, result.kept_up, result.busy) == (None, None, None)
    assert "arrivals" not in result.as_dict()


def test_results_of_earlier_versions_are_read(fake_engine: ModuleType) -> None:
    raw = fake_engine.Session({"name": "tpcc"}, 2).run(fake_engine.RunOptions())
    new = {"mixed_throughput", "violations"}
    result = Result.from_dict({key: value for key, value in raw.items() if key not in new})
    assert (result.mixed_throughput, result.violations) == (0.0, [])
    assert result.fitness == raw["throughput"]


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema_version 2"):
        Result.from_dict({"schema_version": 2})


def test_a_result_has_scheduling_statistics(fake_engine: ModuleType) -> None:
    session = fake_engine.Session({"name": "tpcc"}, 2)
    schedule = {"policy": "smf", "window": "4"}
    raw = session.run(fake_engine.RunOptions(schedule=schedule))
    result = Result.from_dict(raw)
    assert result.schedule is not None
    assert (result.schedule.options, result.schedule.hot) == (schedule, 3)
    assert Result.from_dict(result.as_dict()) == result
