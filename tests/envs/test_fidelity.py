from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import pytest

from envs import NATIVE, Evaluator, Subject, of_policy, static_silo
from envs.fidelity import STUCK, FidelityPlan, Point, measure_fidelity, summarize
from policies import Encoding, to_json

PLAN = FidelityPlan(0.1, 4, 0.0, 0.1, 2, 0.0)


def points(real: Sequence[float], virtual: Sequence[float]) -> list[Point]:
    return [
        Point(f"p{number}", r, v, 0.0, 1000 * r, 1200 * v, 0.1, 0.12)
        for number, (r, v) in enumerate(zip(real, virtual, strict=True))
    ]


def test_the_same_order_is_a_correlation_of_one_and_no_regret() -> None:
    found = summarize(points([0.5, 1.0, 0.8], [0.1, 0.9, 0.2]), {})
    assert (found.spearman, found.kendall, found.regret) == (1.0, 1.0, 0.0)
    assert [point.name for point in found.points] == ["p1", "p2", "p0"]


def test_the_reverse_order_is_a_correlation_of_minus_one() -> None:
    found = summarize(points([1.0, 0.8, 0.5], [0.1, 0.2, 0.9]), {})
    assert found.spearman == pytest.approx(-1.0)
    assert found.regret == pytest.approx(0.5), "it would choose the worst"


def test_errors_are_medians_of_absolute_values() -> None:
    found = summarize(points([1.0, 1.0, 1.0, 0.9], [1.0, 1.0, 1.0, 0.9]), {})
    assert found.throughput_error == pytest.approx(0.2)
    assert found.abort_error == pytest.approx(0.02)


def test_two_policies_are_too_few_to_correlate() -> None:
    with pytest.raises(
        ValueError, match="only 2 policies could be measured; 3 are needed\n  p9: stuck"
    ):
        summarize(points([1.0, 0.5], [1.0, 0.5]), {"p9": "stuck"})


def test_a_policy_that_commits_nothing_on_real_cores_is_named() -> None:
    found = summarize(points([1.0, 0.0, 0.8, 0.5], [0.9, 0.3, 0.2, 0.1]), {"p9": "refused"})
    assert [point.name for point in found.points] == ["p0", "p2", "p3"]
    assert found.skipped == {"p9": "refused", "p1": STUCK}


def subjects() -> list[Subject]:
    return [static_silo(us, f"{us:g}") for us in (1.0, 4.0, 64.0)] + [NATIVE["silo"]]


def test_both_machines_are_measured_relative_to_the_reference(
    evaluator: Evaluator, virtual_evaluator: Evaluator, fake_engine: ModuleType
) -> None:
    rounds: list[str] = []
    found = measure_fidelity(
        evaluator, virtual_evaluator, subjects(), NATIVE["silo"], PLAN, 1, rounds.append
    )
    assert rounds == ["threads"] * 4 + ["virtual"] * 2
    assert [point.name for point in found.points] == ["4", "1", "64", "silo"]
    for point in found.points:
        assert point.real == pytest.approx(point.virtual), "the stand-in is alike on both"
    assert found.regret == 0.0


def test_a_policy_that_fails_on_one_machine_is_left_out(
    evaluator: Evaluator, virtual_evaluator: Evaluator, encoding: Encoding
) -> None:
    vector = [cell.default for cell in encoding.cells]
    explode = of_policy("explode", to_json(encoding.decode(vector, "explode")))
    found = measure_fidelity(
        evaluator, virtual_evaluator, [*subjects(), explode], NATIVE["silo"], PLAN, 1
    )
    assert len(found.points) == 4
    assert "stuck" in found.skipped["explode"]
