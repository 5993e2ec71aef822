from __future__ import annotations

import pytest

from trainer.contest.statistics import (
    Curve,
    Spread,
    compare_blocks,
    compare_runs,
    holm,
    smallest_p,
    smallest_p_of_blocks,
)

CURVE = Curve(((10.0, 1.0), (30.0, 2.0)))


def test_a_curve_has_steps_and_begins_with_the_first() -> None:
    assert [CURVE.at(x) for x in (0, 9, 10, 29, 30, 99)] == [0, 0, 1, 1, 2, 2]
    assert CURVE.area(40) == pytest.approx((20 * 1 + 10 * 2) / 40)
    assert CURVE.area(20) == pytest.approx(10 / 20)
    assert CURVE.area(5) == 0.0
    assert [CURVE.reaches(x, 40) for x in (1.5, 2.0, 2.1)] == [30.0, 30.0, None]
    assert (CURVE.reaches(2.0, 30), CURVE.reaches(2.0, 29)) == (30.0, None)


def test_a_curve_falls_with_a_lower_remeasurement() -> None:
    curve = Curve(((1.0, 2.0), (2.0, 1.0)))
    assert curve.at(3) == 1.0
    assert curve.area(4) == pytest.approx((2 + 2) / 4)


def test_spread() -> None:
    assert Spread.of([3.0]) == Spread(3.0, 3.0, 3.0)
    assert Spread.of([1.0, 2.0, 3.0, 4.0, 5.0]) == Spread(3.0, 2.0, 4.0)


def test_methods_that_differ_in_every_run() -> None:
    (pair,) = compare_runs({"good": [6, 7, 8, 9, 10], "bad": [1, 2, 3, 4, 5]})
    assert pair.effect == 1.0
    assert pair.p == pytest.approx(2 / 252)  # exact: 2 of the C(10, 5) orders are so extreme
    assert pair.corrected == pair.p
    assert smallest_p(5, 5) == pytest.approx(2 / 252)


def test_methods_that_do_not_differ() -> None:
    (pair,) = compare_runs({"one": [1, 2, 3, 4], "other": [1, 2, 3, 4]})
    assert pair.effect == 0.5
    assert pair.p == pytest.approx(1.0)


def test_three_runs_are_never_significant() -> None:
    (pair,) = compare_runs({"good": [4, 5, 6], "bad": [1, 2, 3]})
    assert pair.p == pytest.approx(smallest_p(3, 3)) == pytest.approx(0.1)


def test_few_blocks_are_never_significant() -> None:
    blocks = [{"a": 2.0 + base, "b": 1.0} for base in range(4)]
    assert compare_blocks(blocks)[0].p == pytest.approx(smallest_p_of_blocks(4))
    assert smallest_p_of_blocks(4) == pytest.approx(0.125)


@pytest.mark.parametrize("runs", [6, pytest.param(8, marks=pytest.mark.full)])
@pytest.mark.slow
def test_eight_runs_each_have_an_exact_test_even_with_ties(runs: int) -> None:
    """And fewer, which takes less time: runs of eight have 12 870 orders."""
    good = [float(x) for x in range(runs + 1, 2 * runs + 1)]
    bad = [1.0, *map(float, range(1, runs))]
    (pair,) = compare_runs({"good": good, "bad": bad})
    assert pair.p == pytest.approx(smallest_p(runs, runs))


def test_ties_do_not_make_few_runs_significant() -> None:
    (pair,) = compare_runs({"good": [4.0, 5.0, 6.0], "bad": [1.0, 1.0, 2.0]})
    assert pair.effect == 1.0
    assert pair.p == pytest.approx(0.1)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_blocks_are_pairs_of_runs() -> None:
    # Workloads differ a lot, the methods within each by little: only pairs show it.
    blocks = [{"a": 1.01 * base, "b": base} for base in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)]
    (pair,) = compare_blocks([*blocks, {"a": 1.0}])
    assert pair.effect == 1.0
    assert pair.p <= 2 / 2**6 + 1e-9
    assert compare_blocks([{"a": 1.0, "b": 1.0}])[0].p == 1.0


def test_a_failed_champion_loses_its_block() -> None:
    blocks = [{"a": 2.0, "b": 1.0}] * 3 + [{"a": 0.0, "b": 1.0}, {"a": 0.0, "b": 0.0}]
    (pair,) = compare_blocks(blocks)
    assert pair.effect == pytest.approx(3.5 / 5)
    (pair,) = compare_blocks([{"a": 0.0, "b": base} for base in range(1, 7)])
    assert (pair.effect, pair.p) == (0.0, pytest.approx(2 / 2**6))
