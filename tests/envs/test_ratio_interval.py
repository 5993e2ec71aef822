from __future__ import annotations

import math
import random

import pytest

from envs import ratio_interval


def test_one_repeat_has_no_interval() -> None:
    found = ratio_interval([1.233], 0.95)
    assert (found.ratio, found.low, found.high, found.repeats) == (
        pytest.approx(1.233),
        None,
        None,
        1,
    )


def test_identical_repeats_have_no_interval() -> None:
    found = ratio_interval([1.2, 1.2, 1.2 * (1 + 1e-15)], 0.95)
    assert found.ratio == pytest.approx(1.2)
    assert (found.low, found.high) == (None, None)


def test_the_interval_is_students_of_the_logarithms() -> None:
    # By hand: logarithms 0, ln 1.1, ln 1.21; mean ln 1.1, standard error ln 1.1 / √3, t 4.3027.
    found = ratio_interval([1.0, 1.1, 1.21], 0.95)
    half = 4.302652729911275 * math.log(1.1) / math.sqrt(3)
    assert found.ratio == pytest.approx(1.1)
    assert found.low == pytest.approx(1.1 * math.exp(-half))
    assert found.high == pytest.approx(1.1 * math.exp(half))


def test_no_commits_give_an_extreme_ratio_without_an_error() -> None:
    nothing = ratio_interval([0.0, 0.0, 0.0], 0.95)
    assert nothing.ratio == nothing.high == pytest.approx(0.01)
    sometimes = ratio_interval([0.0, 1.0, 1.1], 0.95)
    assert sometimes.low is not None
    assert sometimes.low < 1.0
    assert ratio_interval([math.inf, 500.0], 0.95).low == pytest.approx(100.0)


@pytest.mark.parametrize("repeats", [2, 3, 5, 10])
@pytest.mark.slow
def test_the_interval_has_its_nominal_coverage(repeats: int) -> None:
    draw = random.Random(repeats)
    covered = 0
    for _ in range(400):
        ratios = [1.05 * math.exp(draw.gauss(0.0, 0.1)) for _ in range(repeats)]
        found = ratio_interval(ratios, 0.9)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1.05 <= found.high
    # 360 are expected, with a standard deviation of 6.
    assert 330 <= covered <= 390
