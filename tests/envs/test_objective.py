"""Tests of metrics, objectives and limits."""

from __future__ import annotations

import dataclasses
import math

import pytest

from envs.metrics import METRICS, metric_named
from envs.objective import BEYOND, UNKNOWN, Limit, Objective, excess, limited
from envs.result import Machine, Result
from envs.type_result import Latency, TypeResult


def kind(
    commits: int, mean: float, p99: float, l2: float, share: float | None = None
) -> TypeResult:
    latency = Latency(mean=mean, p50=mean, p99=p99, max=2 * p99, norms={"2": l2})
    return TypeResult(
        commits=commits,
        throughput=10.0 * commits,
        latency_us=latency if commits else None,
        unfinished=0 if commits else 1,
        share=share,
    )


def result(**types: TypeResult) -> Result:
    return Result(
        protocol="silo",
        policy="",
        workload={"name": "tpcc"},
        machine=Machine("virtual", 4),
        seed=1,
        duration_s=0.1,
        commits=sum(found.commits for found in types.values()),
        throughput=1000.0,
        mixed_throughput=900.0,
        abort_rate=0.25,
        types=types,
        aborts_by_reason={},
        aborts_by_state=[],
        time_s={},
        waiting_by_state_s=[],
    )


RUN = result(pay=kind(300, 10.0, 20.0, 12.0), deliver=kind(100, 50.0, 400.0, 80.0))


def test_metrics_of_the_workload_are_in_its_mix() -> None:
    assert METRICS["throughput"].of_result(RUN) == 900.0
    assert METRICS["mean"].of_result(RUN) == pytest.approx((300 * 10 + 100 * 50) / 400)
    square = math.sqrt((300 * 12**2 + 100 * 80**2) / 400)
    assert METRICS["l2"].of_result(RUN) == pytest.approx(square)
    assert METRICS["cv"].of_result(RUN) == pytest.approx(math.sqrt((square / 20) ** 2 - 1))
    assert METRICS["p99"].of_result(RUN) == 400.0
    assert METRICS["abort_rate"].of_result(RUN) == 0.25


def test_the_shares_of_a_mix_outweigh_the_counts_of_a_run() -> None:
    run = result(pay=kind(300, 10.0, 20.0, 12.0, 0.5), deliver=kind(100, 50.0, 400.0, 80.0, 0.5))
    assert METRICS["mean"].of_result(run) == 30.0


def test_a_type_without_a_commit_makes_latencies_unknown() -> None:
    run = result(pay=kind(300, 10.0, 20.0, 12.0), deliver=kind(0, 0.0, 0.0, 0.0))
    assert METRICS["p99"].of_result(run) is None
    assert METRICS["mean"].of_result(run) is None
    assert Objective("p99").value(run) == 0.0
    assert Limit("p99", "deliver", 1000.0).ratio(run) == UNKNOWN
    assert Limit("p99", "pay", 40.0).ratio(run) == 0.5


def test_a_result_of_an_earlier_version_has_no_norms() -> None:
    latency = dataclasses.replace(kind(1, 1.0, 1.0, 1.0).latency_us or Latency(), norms={})
    run = result(pay=dataclasses.replace(kind(1, 1.0, 1.0, 1.0), latency_us=latency))
    assert METRICS["mean"].of_result(run) == 1.0
    assert METRICS["l2"].of_result(run) is None
    assert METRICS["cv"].of_result(run) is None


def test_more_is_better_for_every_objective() -> None:
    slow = result(pay=kind(300, 20.0, 40.0, 24.0), deliver=kind(100, 100.0, 800.0, 160.0))
    for metric in ("mean", "p50", "p99", "max", "l2"):
        assert Objective(metric).value(RUN) == pytest.approx(2 * Objective(metric).value(slow))
    assert Objective().value(RUN) == 900.0
    assert Objective("p99", ("pay",)).figure(RUN) == 20.0
    assert Objective("throughput", ("pay", "deliver")).figure(RUN) == 1000.0


def test_limits_bound_latency_from_above_and_throughput_from_below() -> None:
    objective = Objective(
        limits=(
            Limit("p99", "deliver", 200.0),
            Limit("throughput", None, 1800.0),
            Limit("mean", "pay", 20.0),
        )
    )
    ratios = objective.limit_ratios(RUN)
    assert ratios == [2.0, 2.0, 0.5]
    assert excess(ratios) == 4.0
    assert excess([]) == 1.0


def test_within_all_limits_any_table_beats_any_beyond() -> None:
    assert limited(1.9, 1.0) == 1.9
    assert limited(9.0, 1.01) == pytest.approx(BEYOND / 1.01)
    assert limited(0.01, 1.0) > limited(9.0, 1.0001) > limited(9.0, 2.0) > limited(9.0, 3.0)
    assert limited(0.0, 2.0) == 0.0


def test_an_objective_is_read_back_from_json() -> None:
    objective = Objective("l4", ("pay",), (Limit("p99", "deliver", 2e3), Limit("cv", None, 2.0)))
    assert Objective.from_dict(objective.as_dict()) == objective
    with pytest.raises(ValueError, match="no metric speed"):
        Objective.from_dict({"metric": "speed", "types": [], "limits": []})


def test_an_objective_is_shown_with_its_limits() -> None:
    limits = (Limit("p99", "deliver", 2e3), Limit("throughput", None, 900.0))
    assert Objective("l4", ("pay",), limits).text == (
        "L4 norm of latency of pay; deliver.p99 ≤ 2,000 µs; throughput ≥ 900 commits/s"
    )
    assert Objective().text == "throughput"


def test_metrics_are_named_with_and_without_their_unit() -> None:
    assert metric_named("p99_us") is metric_named("p99") is METRICS["p99"]
    for name in ("p98", "throughput_us", "cv_us", ""):
        with pytest.raises(ValueError, match="there are throughput, abort_rate, mean"):
            metric_named(name)


def test_values_are_shown_with_their_unit() -> None:
    assert METRICS["p99"].text(2345.6) == "2,346 µs"
    assert METRICS["mean"].text(12.345) == "12.3 µs"
    assert METRICS["cv"].text(1.2345) == "1.23"
